-- renew: id, token, TTL in ms, our fence, 1 to leave the queue.  Answers 1 and
-- the fence as it stands then, or a refusal.
-- It never creates the key: a renewal that was delayed on an abandoned
-- connection would put a released lock back for a whole TTL.
if not ours then
	return refusal()
end
redis.call('PEXPIRE', lock, ARGV[3])
if ARGV[5] == '1' then
	leave(token)
	wake_head()
end
return {1, fence_raise(fence(), tonumber(ARGV[4]))}

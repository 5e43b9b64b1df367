-- renew: id, TTL in ms, our fence.  Answers 1, or a refusal.
-- It never creates the key: a renewal that was delayed on an abandoned
-- connection would put a released lock back for a whole TTL.
if not ours then
	return refusal()
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
fence_raise(fence(), tonumber(ARGV[3]))
return {1}

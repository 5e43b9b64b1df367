-- release: ms that the lock stays taken yet, 1 to leave the queue, 1 if this is
-- the only server.  Answers 1, or a refusal.
-- A resting lock has a value that is no longer our id, so that a renewal
-- which comes late cannot prolong it.
local rest = tonumber(ARGV[5])
if ours and rest > 0 then
	redis.call('PEXPIRE', lock, rest)
	if limit == 0 then
		redis.call('HSET', readers, token, lasting(rest, 'rest ' .. mine))
	else
		redis.call('SET', lock, 'rest ' .. mine, 'XX', 'KEEPTTL')
	end
elseif ours and limit == 0 then
	redis.call('HDEL', readers, token)
elseif ours then
	redis.call('DEL', lock)
	value = false
end
if ours and limit == 0 then
	share_until_last()
end
local left = ARGV[6] == '1' and leave(token)
if ours or left then
	pass_on(ours and ARGV[7] == '1')
end
return ours and {1} or refusal()

-- release: ms that the lock stays taken yet, 1 to leave the queue, 1 if this is
-- the only server, how the run ended, if that is to be written down, and the
-- rest of the value, if it is so even when the lock is not ours any more.
-- Answers 1, or a refusal.
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
if ARGV[8] ~= '' and ours then
	record('end', mine, ARGV[8])
elseif ARGV[8] ~= '' and ARGV[9] ~= '' then
	record('lost', value_of(id .. '0 ', now_us, ARGV[9]), ARGV[8])
end
return ours and {1} or refusal()

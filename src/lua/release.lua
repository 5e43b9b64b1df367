-- release: id, token, ms that the lock stays taken yet, 1 to leave the queue.
-- Answers 1, or a refusal.
-- A resting lock has a value that is no longer our id, so that a renewal
-- which comes late cannot prolong it.
if ours and tonumber(ARGV[3]) > 0 then
	redis.call('PEXPIRE', lock, ARGV[3])
	redis.call('SET', lock, 'rest ' .. value, 'XX', 'KEEPTTL')
elseif ours then
	redis.call('DEL', lock)
end
if ARGV[4] == '1' then
	leave(token)
end
return ours and {1} or refusal()

-- release: id, ms that the lock stays taken yet.  Answers 1, or a refusal.
-- A resting lock has a value that is no longer our id, so that a renewal
-- which comes late cannot prolong it.
if not ours then
	return refusal()
end
if tonumber(ARGV[2]) > 0 then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	redis.call('SET', KEYS[1], 'rest ' .. value, 'XX', 'KEEPTTL')
else
	redis.call('DEL', KEYS[1])
end
return {1}

-- release: id, token, ms that the lock stays taken yet, 1 to leave the queue,
-- grant in ms (0: among several servers).  Answers 1, or a refusal.
-- A resting lock has a value that is no longer our id, so that a renewal
-- which comes late cannot prolong it.
local rest, grant = tonumber(ARGV[3]), tonumber(ARGV[5])
if ours and rest > 0 then
	redis.call('PEXPIRE', lock, rest)
	redis.call('SET', lock, 'rest ' .. value, 'XX', 'KEEPTTL')
elseif ours then
	redis.call('DEL', lock)
end
if ARGV[4] == '1' then
	leave(token)
end
if ours then
	-- Passed on without a gap, so that nobody jumps the queue; the one who
	-- gets it has to confirm it while the grant lasts.
	local waiter, its = head()
	local _, its_id, details = beat_parts(its or '')
	if its_id and rest == 0 and grant > 0 then
		take(its_id, details, grant)
		redis.pcall('HSET', beat, waiter, string.format('%.0f %s%s', now_us + grant * 1e3, its_id, details))
	end
	if waiter then
		wake(waiter)
	end
	return {1}
end
return refusal()

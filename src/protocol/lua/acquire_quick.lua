-- acquire, the usual case: the lock is free and the queue empty.
if not value and not others and mode == 'exclusive' and
	(ARGV[11] == '1' or ARGV[10] == '0') and
	(ARGV[15] == '0' or not ran_lately(tonumber(ARGV[15]))) then
	local its = value_of(id, ARGV[6])
	local done = redis.pcall('SET', lock, its, 'NX', 'PX', ARGV[7])
	if done then
		return done.err and done or granted(its, ARGV[8], true, ARGV[12], 0)
	end
end

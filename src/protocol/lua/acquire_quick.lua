-- acquire, the usual case: the lock is free and the queue empty.
if not value and not others and mode == 'exclusive' and
	(ARGV[11] == '1' or ARGV[10] == '0') and
	(ARGV[15] == '0' or not ran_lately(tonumber(ARGV[15]))) then
	local its = value_of(id, ARGV[6])
	local done = set_lock(its, ARGV[7], true)
	if done then
		return done == true and granted(its, ARGV[8], true, ARGV[12], 0) or done
	end
end

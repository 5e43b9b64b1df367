-- acquire, the usual case: the lock is free and the queue empty.
if plain and not value and (ARG.only == '1' or ARG.heartbeat == '0') and
	(ARG.once_per == '0' or not ran_lately(tonumber(ARG.once_per))) then
	local its = value_of(id, ARG.details)
	local done = set_lock(its, ARG.ttl, true)
	if done then
		return done == true and granted(its, ARG.proposal, true, ARG.start, 0) or done
	end
end

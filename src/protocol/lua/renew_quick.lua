-- renew, the usual case: no more of the lease is left than the request asks for.
-- A reader never comes here: the lock's value names no reader.
if ours and not unconfirmed and ARG.start == '' and
	call('PTTL', lock) <= tonumber(ARG.ttl) then
	call('PEXPIRE', lock, ARG.ttl)
	keep_slots(value, ARG.ttl)
	watch()
	local last = fence()
	if last >= tonumber(ARG.fence) then
		return {1, last}
	end
end

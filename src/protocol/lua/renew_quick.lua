-- renew, the usual case: nothing to do but extend the lease.
if ours and not shared and not unconfirmed and ARG.start == '' then
	local ms = extended(value, ARG.ttl, call('PTTL', lock))
	call('PEXPIRE', lock, ms)
	keep_slots(value, ms)
	watch()
	local last = fence()
	if last >= tonumber(ARG.fence) then
		return {1, last}
	end
end

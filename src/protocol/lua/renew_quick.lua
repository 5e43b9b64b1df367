-- renew, the usual case: nothing to do but extend the lease.
if ours and not shared and not unconfirmed and ARG.start == '' then
	call('PEXPIRE', lock, ARG.ttl)
	keep_slots(value, ARG.ttl)
	local last = fence()
	if last >= tonumber(ARG.fence) then
		return {1, last}
	end
end

-- renew, the usual case: nothing to do but extend the lease.
if ours and not shared and not unconfirmed and ARGV[8] == '' then
	call('PEXPIRE', lock, ARGV[6])
	keep_slots(value, ARGV[6])
	local last = fence()
	if last >= tonumber(ARGV[7]) then
		return {1, last}
	end
end

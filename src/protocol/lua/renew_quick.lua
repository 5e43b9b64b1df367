-- renew, the usual case: nothing to do but extend the lease, of which less is left
-- than asked for.
if ours and not shared and not unconfirmed and ARG.start == '' and
	call('PTTL', lock) <= tonumber(ARG.ttl) then
	call('PEXPIRE', lock, ARG.ttl)
	keep_slots(value, ARG.ttl)
	watch()
	local last = fence()
	if last >= tonumber(ARG.fence) then
		return {1, last}
	end
end

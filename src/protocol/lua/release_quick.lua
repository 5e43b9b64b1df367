-- release, the usual case: the queue is empty, and the start is recorded.
if plain and ours and not unconfirmed and ARG.cooldown == '0' and ARG.leaving == '1' and
	ARG.ending ~= '' and ARG.starts == '0' then
	call('DEL', lock)
	record_end(value, ARG.waited, ARG.ending, ARG.details:sub(1, ARG.success))
	return {1}
end

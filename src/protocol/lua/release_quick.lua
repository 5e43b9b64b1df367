-- release, the usual case: the queue is empty, the run has the attempt that it held,
-- and the start is recorded.
local held = id .. ARG.held .. ' '
if plain and ours and not unconfirmed and ARG.cooldown == '0' and ARG.leaving == '1' and
	ARG.ending ~= '' and ARG.starts == '0' and value:sub(1, #held) == held then
	call('DEL', lock)
	record_end(value, ARG.waited, ARG.ending, ARG.details:sub(1, ARG.success))
	return {1}
end

-- release, the usual case: the queue is empty, and the start is recorded.
if ours and mode == 'exclusive' and not unconfirmed and not others and
	ARGV[6] == '0' and ARGV[7] == '1' and ARGV[9]:find(' ended=', 1, true) and ARGV[13] ~= '' then
	call('DEL', lock)
	record('end', value, ARGV[9])
	record_success(value, ARGV[9])
	return {1}
end

-- release, the usual case: the queue is empty, and the start is recorded.
if ours and mode == 'exclusive' and not unconfirmed and not others and
	ARGV[6] == '0' and ARGV[7] == '1' and ARGV[10] ~= '' and ARGV[12] == '0' then
	call('DEL', lock)
	record('end', value, ARGV[9] .. ARGV[10])
	record_success(value, ARGV[11])
	return {1}
end

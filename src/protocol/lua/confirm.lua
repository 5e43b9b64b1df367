-- confirm: a renewal that leaves the queue, with the same arguments.
if ours then
	local reply = renewed(ARGV[6], ARGV[7], ARGV[8])
	leave(token)
	pass_on(false)
	return reply
end

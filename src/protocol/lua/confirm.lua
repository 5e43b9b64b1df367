-- confirm: a renewal that leaves the queue.  It may be repeated: the start is
-- recorded when the mark is removed.
-- ARGV:
--	ttl	in ms
--	fence	ours
--	start	the start of the run for the history
--	carried	1 if we took a grant with the wake
if ours then
	local reply = renewed(ARG.ttl, ARG.fence, (ARG.carried == '0' or unconfirmed) and ARG.start or '')
	pcall(function() -- the lock is ours already, whatever is wrong here
		leave(token)
		pass_on(false)
	end)
	return reply
end

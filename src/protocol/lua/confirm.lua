-- confirm: a renewal that leaves the queue.  Arguments as for renew, then 1 if
-- we took a grant with the wake.  It may be repeated: the start is recorded
-- when the mark is removed.
if ours then
	local reply = renewed(ARGV[6], ARGV[7], (ARGV[9] == '0' or unconfirmed) and ARGV[8] or '')
	pcall(function() -- the lock is ours already, whatever is wrong here
		leave(token)
		pass_on(false)
	end)
	return reply
end

-- renew.  Replies up to FENCE; a script that ends without a reply refuses.  It
-- never creates the key, because a renewal that was delayed on an abandoned
-- connection would restore a released lock for a whole TTL.
-- ARGV:
--	ttl	in ms
--	fence	ours
--	start	the start of the run for the history, or "" if it is recorded
if ours then
	return renewed(ARG.ttl, ARG.fence, ARG.start)
end

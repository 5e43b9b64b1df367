-- renew: TTL in ms, our fence, and how the run started, if that is to be
-- written down.  Replies up to the fence as it stands then; who comes to the
-- end of a script without a reply is refused.
-- It never creates the key: a renewal that was delayed on an abandoned
-- connection would put a released lock back for a whole TTL.
if ours then
	return renewed(ARGV[6], ARGV[7], ARGV[8])
end

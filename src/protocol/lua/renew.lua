-- renew: TTL in ms, our fence, and the text for the start of the run, or "" if
-- it is already recorded.  Replies up to FENCE.  A script that ends without a
-- reply refuses.  It never creates the key, because a renewal that was delayed
-- on an abandoned connection would restore a released lock for a whole TTL.
if ours then
	return renewed(ARGV[6], ARGV[7], ARGV[8])
end

-- ran.  Replies like an acquire that finds a success, or else with a grant up to
-- GRANTED.  Takes no lock and no place in the queue.  A refusal may drop readers
-- whose leases have ended.
-- ARGV:
--	once_per	in ms
local success = ran_lately(tonumber(ARG.once_per))
return success and refused_for(REASON.RAN, success) or {1}

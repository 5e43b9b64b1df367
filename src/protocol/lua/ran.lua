-- ran: --once-per in ms.  Replies like an acquire that finds a success, or else
-- with a grant up to GRANTED.  Takes no lock and no place in the queue.  A refusal
-- may drop readers whose leases have ended.
local success = ran_lately(tonumber(ARGV[6]))
return success and refused_for(RAN_LATELY, success) or {1}

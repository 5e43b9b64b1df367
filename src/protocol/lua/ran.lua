-- ran: --once-per in ms.  Replies as acquire does where that finds a success, else
-- with a grant up to GRANTED.  Takes neither the lock nor a place in the queue; a
-- refusal may drop readers whose leases have ended.
local success = ran_lately(tonumber(ARGV[6]))
return success and refused_for(RAN_LATELY, success) or {1}

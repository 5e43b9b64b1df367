-- Whom else the lock concerns.

-- The length of the queue, including dead waiters; whether a run may be waiting for
-- the lock or holding another slot of it; and whether there is nobody to think of
-- but a holder.
local queue = KEYS[2] .. 'queue'
local others = call('EXISTS', queue, KEYS[2] .. 'slots') > 0
local length = others and tonumber(redis.pcall('ZCARD', queue)) or others and 1 or 0
local plain = mode == 'exclusive' and not others

-- Comes before every script: what it is about, and whose that is.
--
-- KEYS: the lock, and what the names of the keys beside it begin with, which
-- lie in the same slot of a Redis Cluster:
--	fence	the counter
--	queue	waiter to ticket
--	beat	waiter to "DEADLINE_US MODE CAPACITY ID DETAILS nonce=NONCE", the
--		last word only of those that can take a grant with the wake
--	wake:T	the list on which the waiter T blocks, with one element: "1", it
--		has to ask, or "NONCE FENCE MS", it has the lock for MS
--	readers	shared holder to "DEADLINE_US VALUE"
--	runs	the history, see record()
--	2, 3 ..	the further slots; slot 1 is the lock itself
--	slots	how many slots there are, for as long as one of them is held
-- ARGV: our id, our token, the mode ("exclusive", "shared" or "slots"), the
-- capacity (how many slots there are; else 1) and the slot we mean (0: any).
local id, token, mode, capacity, slot = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local shared, call = mode == 'shared', redis.call

-- The reply of all scripts has one shape, and ends behind the last field that
-- its reader needs: a grant behind NOW, a refusal behind BEST_PTTL or REASON.
--	GRANTED		1 or 0
--	FENCE		the counter; 0 in a refusal
--	AHEAD		1: a living waiter comes before us
--	SLOT		the slot that this is about
--	NOW		the server's time in us
--	VALUE		of the slot, or of the last reader; nil: it is free
--	PTTL		for how long yet: ms, PTTL_NONE or PTTL_FREE
--	READERS		how many share it
--	BEST		the slot that is free, or will be so first,
--	BEST_PTTL	and when
--	QUEUED		1: its holder is itself in the queue
--	WAITING		how many others wait
--	TICKET		ours, or the one that we would get
--	PLACE		ours in the queue, from 1; 0: unknown
--	REASON		of the refusal: BUSY, or USED_OTHERWISE (then VALUE is whose mode
--			is another)
--	BROKEN		the loss of our lock, if --break took it: "by=USER@HOST"
--	WAITERS		of --status: their values
--	HOLDERS		of --status: their values, each with its PTTL
local FENCE, AHEAD, VALUE, READERS = 2, 3, 6, 8
local QUEUED, WAITING, TICKET, PLACE, REASON, BROKEN, WAITERS, HOLDERS = 11, 12, 13, 14, 15, 16, 17, 18
local PTTL_NONE, PTTL_FREE = -1, -2
local BUSY, USED_OTHERWISE = 0, 1

-- A value is the id of its owner ("redlock-run/2 token=UUID try=N "), then the
-- server's time at the taking, then who that is.  The id alone is compared.
-- While readers share the lock its value is one word, and it lives as long as
-- the last of them.  A key of another type is a value that is nobody's.
-- A value that a release has handed to a waiter ends with a mark until that
-- waiter confirms it.  The mark decides whose tenure begins, not the queue: a
-- waiter that was stopped may be out of the queue by then.
local SHARED, FOREIGN, MARK = '~shared', '?', ' unconfirmed'
local GRANT_MS = 2000
-- How long a grant lasts that comes with the wake, so that COMMAND starts under
-- it before it is confirmed.
local HANDOVER_MS = 5000
local THIRTY_DAYS_MS = '2592000000'

local function slot_key(n)
	return n == 1 and KEYS[1] or KEYS[2] .. n
end

-- The key and the value of the slot that is meant, which is false if it is
-- free; whether that is of this attempt, and so ours; and whether it is a grant
-- that its waiter has yet to confirm.
if slot > capacity then
	return redis.error_reply('ERR there is no slot ' .. slot .. ' of ' .. capacity)
end
-- What stands for the value of a key of another type: the type, too, where we
-- may ask for it.
local function foreign(key)
	local kind = redis.pcall('TYPE', key).ok
	return FOREIGN .. (kind and ' ' .. kind or '')
end

local lock = slot_key(slot > 0 and slot or 1)
local value = redis.pcall('GET', lock)
if type(value) == 'table' then
	if not value.err:find('WRONGTYPE', 1, true) then
		return value
	end
	value = foreign(lock)
end
local ours = value and id ~= '' and value:sub(1, #id) == id
local unconfirmed = value and value:sub(-#MARK) == MARK

-- One of the slots is held for ms, with that value: for the longest such time
-- their number is known.
local function keep_slots(its, ms)
	local n, key = mode == 'slots' and its:match(' slots=(%d+)'), KEYS[2] .. 'slots'
	if n and call('PTTL', key) < tonumber(ms) then
		call('SET', key, n, 'PX', ms)
	end
end

-- The fence as it stands; what is no number a fence can be counts as none.
local function fence()
	local n = tonumber(redis.pcall('GET', KEYS[2] .. 'fence'))
	return n and n >= 0 and n < 9e15 and n or 0
end


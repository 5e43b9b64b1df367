-- Precedes every script: the keys, the arguments, the reply, and the lock's
-- value.
--
-- KEYS: the lock, and the beginning of its auxiliary keys, which lie in the
-- same slot of a Redis Cluster:
--	fence	the counter
--	queue	waiter to ticket
--	beat	waiter to "DEADLINE_US MODE CAPACITY [FIELD ]... ID DETAILS"; its
--		fields are beat=MS, for how long a beat lasts; latest=1 of a run
--		with --latest once it has chosen its ticket; and nonce=NONCE,
--		which is there only if the waiter can take a grant with the wake,
--		and 0 if it takes no grant at all, but has to ask (--once-per), and
--		waits=0 of a run without -w, which queues only while votes are
--		split.  A waiter of an unknown MODE keeps its place, and has to ask
--	wake:T	the list on which the waiter T blocks, with one element: "1", it
--		must send an acquire, or "NONCE FENCE MS", it has the lock for MS
--	readers	shared holder to "DEADLINE_US VALUE"
--	runs	the history, see record()
--	skips	the runs that did not get the lock, see record_skip()
--	2, 3 ..	the further slots; slot 1 is the lock itself
--	slots	the number of slots, as long as a run holds one
--	none	a key that never exists, see lacks_right()
--	success	the last run that succeeded: its value up to the command, and how
--		long it ran: " ran=MS"
-- ARGV:
--	id	ours
--	token	ours
--	mode	"exclusive", "shared" or "slots"
--	capacity	the number of slots; 1 in the other modes
--	slot	the requested one; 0: any

-- All scripts reply in the same shape.  A reply ends after the last field that
-- its reader needs: a grant after NOW, a refusal after BEST_PTTL or REASON.
-- REPLY:
--	GRANTED		1 or 0
--	FENCE		the counter; 0 in a refusal
--	AHEAD		1: a living waiter has an earlier ticket
--	SLOT		the slot of this reply
--	NOW		the server's time in us
--	VALUE		of the slot, or of the last reader; nil: free
--	PTTL		its remaining time in ms, PTTL_NONE or PTTL_FREE
--	READERS		how many runs share the lock
--	BEST		a free slot, or the first to become free
--	BEST_PTTL	and its remaining time
--	QUEUED		1: the holder is still in the queue
--	WAITING		how many others wait
--	TICKET		ours, or the one that we would get
--	PLACE		our place in the queue, from 1; 0: unknown
--	REASON		of the refusal, see below
--	LAST_RAN	how long the last run that succeeded ran, in ms; only in
--			the refusal that gives a ticket
--	BROKEN		of a lost lock: "by=USER@HOST", if --break took it
--	WAITERS		for --status: their values
--	HOLDERS		for --status: their values, each with its PTTL and its slot;
--			0: a reader
--	RUNS		for --metrics, see runs.lua
--	SKIPS		for --metrics, see runs.lua
--	SUCCESS		for --metrics: the value of the last success; nil: none
-- REASON:
--	BUSY	another run has the lock, or its turn
--	MODE	VALUE is of a run that uses the lock in another mode
--	RAN	VALUE is of the last success, see ran_lately()
--	BEHIND	BUSY for a reader; VALUE is of a writer that waits
--	SUPERSEDED	VALUE is of a later run with --latest that waits
--	FULL	BUSY, and as many runs wait as --max-waiting allows: WAITING of
--		them.  The run gets no place

-- Values of PTTL that are no time: a key without expiry, and none.
local PTTL_NONE = -1
local PTTL_FREE = -2
-- A lock has at most so many slots.
local LOCK_SLOTS = 64

-- A value is the id of its owner ("redlock-run/2 token=UUID try=N "), the
-- server's time when the owner got it, and the owner's details.  Scripts
-- compare only the id.  While readers share the lock, its value is one word
-- that lasts as long as the last reader.  A key of another type counts as a
-- foreign value.  A value that a release has granted to a waiter ends with a
-- mark until the waiter confirms it.  The mark decides which tenure begins, not
-- the queue, because a stopped waiter may have left the queue by then.
-- Other versions of redlock-run share the lock.  In their values the number may
-- be another, a state other than "cooldown" may stand in front, and the details
-- may have any order.
local OURS = '^redlock%-run/%d+ token=(%S+)'
local SHARED, FOREIGN, MARK = '~shared', '?', ' unconfirmed'
-- The length of a grant, see also within_lease(); and of one that comes with the
-- wake, under which COMMAND starts before the waiter confirms it.
local GRANT_MS = 2000
local HANDOVER_MS = 5000
-- For how long the beat of a run with -w lasts, and of no other run.
local HEARTBEAT_MS = 15000
local THIRTY_DAYS_MS = '2592000000'
-- So that an alert about a monthly job still knows when it last succeeded.
local SUCCESS_KEPT_MS = '34560000000'

local id, token, mode = ARG.id, ARG.token, ARG.mode
local capacity, slot = tonumber(ARG.capacity), tonumber(ARG.slot)
local shared, call = mode == 'shared', redis.call

-- The key and the value of the requested slot (false: free); whether this attempt
-- has it; and whether its waiter still has to confirm it.
local lock, value, ours, unconfirmed

local function slot_key(n)
	return n == 1 and KEYS[1] or KEYS[2] .. n
end

-- The value that represents a key of another type: with its type, if the user
-- may call TYPE.
local function foreign(key)
	local kind = redis.pcall('TYPE', key).ok
	return FOREIGN .. (kind and ' ' .. kind or '')
end

-- Returns the value of a key; an error as a table.
local function read(key)
	local its = redis.pcall('GET', key)
	local wrong = type(its) == 'table' and its.err:find('WRONGTYPE', 1, true)
	return wrong and foreign(key) or its
end

local time_us
local function now_us()
	if not time_us then
		local time = call('TIME')
		time_us = time[1] * 1e6 + time[2]
	end
	return time_us
end

-- Returns the fence; 0 if the key holds no valid fence.
local function fence()
	local n = tonumber(redis.pcall('GET', KEYS[2] .. 'fence'))
	return n and n >= 0 and n < 9e15 and n or 0
end

if slot > capacity then
	return redis.error_reply('ERR there is no slot ' .. slot .. ' of ' .. capacity)
end
lock = slot_key(slot > 0 and slot or 1)
value = read(lock)
if type(value) == 'table' then
	return value
end
ours = value and id ~= '' and value:sub(1, #id) == id
unconfirmed = value and value:sub(-#MARK) == MARK

-- Put before every script: the words in which all of them are written.
--
-- KEYS: the lock, and what the names of the keys beside it begin with, which
-- lie in the same slot of a Redis Cluster:
--	fence	the counter
--	queue	waiter to ticket
--	beat	waiter to "DEADLINE_US MODE CAPACITY ID DETAILS"
--	wake:T	the list on which the waiter T blocks
--	readers	shared holder to "DEADLINE_US VALUE"
--	runs	the history, see record()
--	2, 3 ..	the further slots; slot 1 is the lock itself
-- ARGV: our id, our token, the mode ("exclusive", "shared" or "slots"), the
-- capacity (how many slots there are; else 1) and the slot we mean (0: any).
local id, token, mode, capacity, slot = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local shared, call = mode == 'shared', redis.call

-- The reply of all scripts has one shape, and ends behind the last field that
-- its reader needs: a grant behind NOW, a refusal behind BEST_PTTL or PLACE.
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
--	WAITERS		of --status: their values
--	HOLDERS		of --status: their values, each with its PTTL
local FENCE, AHEAD, QUEUED, WAITING, TICKET, PLACE, WAITERS, HOLDERS = 2, 3, 11, 12, 13, 14, 15, 16
local PTTL_NONE, PTTL_FREE = -1, -2

-- A value is the id of its owner ("redlock-run/2 token=UUID try=N "), then the
-- server's time at the taking, then who that is.  The id alone is compared.
-- While readers share the lock its value is one word, and it lives as long as
-- the last of them.  A key of another type is a value that is nobody's.
-- A value that a release has handed to a waiter ends with a mark until that
-- waiter confirms it.  The mark decides whose tenure begins, not the queue: a
-- waiter that was stopped may be out of the queue by then.
local SHARED, FOREIGN, MARK = '~shared', '?', ' unconfirmed'
local GRANT_MS = 2000
local THIRTY_DAYS_MS = '2592000000'
local queue, beat, readers = KEYS[2] .. 'queue', KEYS[2] .. 'beat', KEYS[2] .. 'readers'

local time_us
local function now_us()
	if not time_us then
		local time = call('TIME')
		time_us = time[1] * 1e6 + time[2]
	end
	return time_us
end

-- What lasts for some time, with its deadline before it.
local function lasting(ms, what)
	return string.format('%.0f %s', now_us() + ms * 1e3, what)
end

-- The same without the deadline, which follows; nothing once that has passed.
local function alive(entry)
	local until_us, what = (entry or ''):match('^(%d+) (.*)$')
	until_us = tonumber(until_us or 0)
	if until_us >= now_us() then
		return what, until_us
	end
end

local function slot_key(n)
	return n == 1 and KEYS[1] or KEYS[2] .. n
end

-- The token in a value, if it is one of ours.
local function token_of(its)
	return its and its:match('^redlock%-run/2 token=(%S+)')
end

-- The fence as it stands; what is no number a fence can be counts as none.
local function fence()
	local n = tonumber(redis.pcall('GET', KEYS[2] .. 'fence'))
	return n and n >= 0 and n < 9e15 and n or 0
end

-- Never down, and kept for 30 days after its last use.
local function fence_raise(from, to)
	if to <= from then
		return from
	end
	call('SET', KEYS[2] .. 'fence', string.format('%.0f', to), 'PX', THIRTY_DAYS_MS)
	return to
end

-- Writes down the "start" of a run, or its "end" (not ours any more: "lost"):
-- the value, and what there is to say of it.  The last hundred runs at least
-- are kept, for 30 days after the last.  The lock does not depend on it.
local function record(what, its, how)
	local runs = KEYS[2] .. 'runs'
	if type(redis.pcall('XADD', runs, 'MAXLEN', '200', '*', what, its .. how)) == 'string' then
		call('PEXPIRE', runs, THIRTY_DAYS_MS)
	end
end

-- The readers have it for ms at least.
local function share_for(ms)
	ms = math.max(ms, call('PTTL', KEYS[1]))
	call('PEXPIRE', KEYS[1], ms)
	call('PEXPIRE', readers, ms)
end

-- The key and the value of the slot that is meant; false: it is free.
local lock = slot_key(math.max(slot, 1))
local value = redis.pcall('GET', lock)
if type(value) == 'table' then
	if not value.err:find('WRONGTYPE', 1, true) then
		return value
	end
	value = FOREIGN
end
if slot > capacity then
	return redis.error_reply('ERR there is no slot ' .. slot .. ' of ' .. capacity)
end

-- The value that our token has; whether it is of this attempt, and so ours; and
-- whether it is a grant that we have yet to confirm.
local mine, ours, unconfirmed
local function claim(its)
	mine = its
	unconfirmed = mine and mine:sub(-#MARK) == MARK
	if unconfirmed then
		mine = mine:sub(1, -#MARK - 1)
	end
	ours = mine and mine:sub(1, #id) == id
end
if shared then
	claim(value == SHARED and alive(call('HGET', readers, token)))
else
	claim(token_of(value) == token and value)
end

-- Extends our lease to ms from now, and confirms a grant.
local function prolong(ms)
	if shared then
		share_for(ms)
		call('HSET', readers, token, lasting(ms, mine))
	else
		call('PEXPIRE', lock, ms)
		if unconfirmed then
			call('SET', lock, mine, 'XX', 'KEEPTTL')
		end
	end
end

-- The reply to a renewal for ms, which raises the fence to ours and writes down
-- how the run started, unless that is empty.
local function renewed(ms, our_fence, start)
	prolong(ms)
	if start ~= '' then
		record('start', mine, start)
	end
	return {1, fence_raise(fence(), tonumber(our_fence))}
end

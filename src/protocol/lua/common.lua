-- Put before every script.  KEYS: the lock, and what the names of the keys
-- beside it begin with, which lie in the same slot of a Redis Cluster:
--	fence	the counter
--	queue	waiter to ticket
--	beat	waiter to "DEADLINE_US LIMIT ID DETAILS"
--	wake:T	the list on which the waiter T blocks
--	readers	shared holder to "DEADLINE_US VALUE"
--	runs	the history, see record()
--	2, 3 ..	the further slots; slot 1 is the lock itself
-- ARGV: our id, our token, the limit: how many may hold the lock at a time (1,
-- or N slots; 0: it is shared by any number), and the slot we mean (0: any).
--
-- A value is the id of its owner ("redlock-run/1 token=UUID try=N "), then the
-- server's time at the taking, then who that is.  The id alone is compared.
-- While readers share the lock its value is one word, and it lives as long as
-- the last of them.  A key of another type is a value that is nobody's.
-- A value that a release has handed to a waiter ends with a mark until that
-- waiter confirms it.  The mark decides whose tenure begins, not the queue: a
-- waiter that was stopped may be out of the queue by then.
local id, token, limit, slot = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local queue, beat, readers = KEYS[2] .. 'queue', KEYS[2] .. 'beat', KEYS[2] .. 'readers'
local SHARED, MARK = '~shared', ' unconfirmed'
local GRANT_MS = 2000
-- What one call spends on dead waiters and readers, at most.
local DROPS, SWEEP = 200, 64
local time = redis.call('TIME')
local now_us = time[1] * 1e6 + time[2]

local function slot_key(n)
	return n == 1 and KEYS[1] or KEYS[2] .. n
end

-- What may be left undone where there is no memory for it, but for no other
-- reason.
local function attempt(...)
	local done = redis.pcall(...)
	if type(done) == 'table' and done.err and not done.err:find('OOM', 1, true) then
		return redis.call(...)
	end
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
	redis.call('SET', KEYS[2] .. 'fence', string.format('%.0f', to), 'PX', 2592000000)
	return to
end

-- What lasts for some time, with its deadline before it.
local function lasting(ms, what)
	return string.format('%.0f %s', now_us + ms * 1e3, what)
end

-- The same without the deadline, which follows; nothing once that has passed.
local function alive(entry)
	local until_us, what = (entry or ''):match('^(%d+) (.*)$')
	until_us = tonumber(until_us or 0)
	if until_us >= now_us then
		return what, until_us
	end
end

local function value_of(its_id, since_us, details)
	return string.format('%ssince=%.0f %s', its_id, math.floor(since_us / 1000), details)
end

-- Writes down the "start" of a run, or its "end" (not ours any more: "lost"):
-- the value, and what there is to say of it.  The last hundred runs at least
-- are kept, for 30 days after the last.  The lock does not depend on it.
local function record(what, its, how)
	local runs = KEYS[2] .. 'runs'
	if type(redis.pcall('XADD', runs, 'MAXLEN', '200', '*', what, its .. how)) == 'string' then
		redis.call('PEXPIRE', runs, '2592000000')
	end
end

-- What each slot holds (false: it is free), how many are free, and who, by
-- token, has which.
local values, free, slot_of = {redis.pcall('GET', KEYS[1])}, 0, {}
if type(values[1]) == 'table' then
	if not values[1].err:find('WRONGTYPE', 1, true) then
		return values[1]
	end
	values[1] = '?'
end
if limit > 1 then
	local keys = {}
	for n = 2, limit do
		keys[n - 1] = slot_key(n)
	end
	local absent = {}
	for n, its in ipairs(redis.call('MGET', unpack(keys))) do
		values[n + 1] = its
		absent[#absent + 1] = not its and keys[n] or nil
	end
	-- MGET does not show keys of another type.
	if #absent > 0 and redis.call('EXISTS', unpack(absent)) > 0 then
		for n = 2, limit do
			values[n] = values[n] or redis.call('EXISTS', slot_key(n)) == 1 and '?'
		end
	end
end
if slot > math.max(limit, 1) then
	return redis.error_reply('ERR there is no slot ' .. slot .. ' of ' .. limit)
end
for n, its in ipairs(values) do
	local owner = (its or ''):match('^redlock%-run/1 token=(%S+)')
	if owner then
		slot_of[owner] = n
	end
	free = free + (its and 0 or 1)
end

-- The first slot that is free, or else the one that will be so first.
local function best_slot()
	local best, best_ms = 1, nil
	for n = 1, #values do
		local ms = values[n] and (limit < 2 and 0 or redis.call('PTTL', slot_key(n))) or -2
		if not best_ms or ms ~= -1 and (ms < best_ms or best_ms == -1) then
			best, best_ms = n, ms
		end
	end
	return best
end

-- What is there of our token, and whether it is of this attempt, so ours.
local mine = limit > 0 and slot_of[token] and values[slot_of[token]]
if values[1] == SHARED and limit == 0 then
	mine = alive(redis.call('HGET', readers, token))
end
local unconfirmed = mine and mine:sub(-#MARK) == MARK
if unconfirmed then
	mine = mine:sub(1, -#MARK - 1)
end
local ours = mine and mine:sub(1, #id) == id
if ours and limit > 0 then
	slot = slot_of[token]
elseif slot == 0 then
	slot = best_slot()
end
local lock, value = slot_key(slot), values[slot]

-- The last of the living readers, how many they are, how many of them are in
-- the queue, and until when the last holds.  Drops some of the dead, but not
-- for a query.
local function sharing()
	local last, n, queued, last_us, drops = nil, 0, 0, 0, id == '' and 0 or DROPS
	local all = value == SHARED and redis.call('HGETALL', readers) or {}
	for i = 1, #all, 2 do
		local its, until_us = alive(all[i + 1])
		if not its and drops > 0 then
			redis.call('HDEL', readers, all[i])
			drops = drops - 1
		elseif its then
			n = n + 1
			queued = queued + (redis.call('ZSCORE', queue, all[i]) and 1 or 0)
			if until_us > last_us then
				last, last_us = its, until_us
			end
		end
	end
	return last, n, queued, last_us
end

-- The readers have it for ms at least.
local function share_for(ms)
	ms = math.max(ms, redis.call('PTTL', lock))
	redis.call('PEXPIRE', lock, ms)
	redis.call('PEXPIRE', readers, ms)
end

-- One of the readers has gone: they have it until the last of them goes.
local function share_until_last()
	local _, n, _, last_us = sharing()
	if n == 0 then
		redis.call('DEL', lock, readers)
		value = false
	else
		local ms = math.ceil((last_us - now_us) / 1e3)
		redis.call('PEXPIRE', lock, ms)
		redis.call('PEXPIRE', readers, ms)
	end
end

-- Makes who the holder for ms, with that value: alone, or with other readers.
-- Returns true; false if the key exists after all; or an error as a table.
local function hold(who, its_limit, its, ms)
	local shared = its_limit == 0
	if not (shared and value == SHARED) then
		local done = redis.pcall('SET', lock, shared and SHARED or its, 'NX', 'PX', ms)
		if not done or done.err then
			return done
		end
		value = shared and SHARED or its
		if shared then
			redis.call('DEL', readers)
		end
	end
	if shared then
		local done = redis.pcall('HSET', readers, who, lasting(ms, its))
		if type(done) == 'table' then
			if redis.call('EXISTS', readers) == 0 then
				redis.call('DEL', lock)
				value = false
			end
			return done
		end
		share_for(ms)
	end
	return true
end

-- Extends our lease to ms from now, and confirms a grant.
local function prolong(ms)
	if limit == 0 then
		share_for(ms)
		redis.call('HSET', readers, token, lasting(ms, mine))
	else
		redis.call('PEXPIRE', lock, ms)
		if unconfirmed then
			redis.call('SET', lock, mine, 'XX', 'KEEPTTL')
		end
	end
end

-- Tells a waiter to ask.
local function wake(waiter)
	local list = KEYS[2] .. 'wake:' .. waiter
	if redis.call('EXISTS', list) == 0 then
		attempt('LPUSH', list, 1)
		redis.pcall('PEXPIRE', list, 5 * GRANT_MS)
	end
end

-- Counts a waiter whose turn it is as dead if it does not ask in time.
local function hurry(waiter)
	local its, until_us = alive(redis.call('HGET', beat, waiter))
	if its and until_us > now_us + GRANT_MS * 1e3 then
		attempt('HSET', beat, waiter, lasting(GRANT_MS, its))
	end
end

-- Answers whether it was a waiter.
local function leave(waiter)
	if redis.call('ZREM', queue, waiter) == 0 then
		return false
	end
	redis.call('HDEL', beat, waiter)
	redis.call('DEL', KEYS[2] .. 'wake:' .. waiter)
	return true
end

-- The parts of a beat: limit, id and details of a living waiter.
local function beat_parts(entry)
	local its_limit, its_id, details = (alive(entry) or ''):match(
		'^(%d+) (redlock%-run/1 token=%S+ try=%d+ )(.*)$')
	return tonumber(its_limit), its_id, details
end

-- The living waiters with the parts of their beats, in their turn; the dead are
-- dropped.  Behind too many dead it finds nobody: a living waiter there is
-- passed over, so that no call blocks the server for long.
local function waiters()
	local n, drops = 0, DROPS
	return function()
		while drops > 0 do
			local waiter = redis.call('ZRANGE', queue, n, n)[1]
			if not waiter then
				return nil
			end
			local its_limit, its_id, details = beat_parts(redis.call('HGET', beat, waiter))
			if its_limit then
				n = n + 1
				return waiter, its_limit, its_id, details
			end
			leave(waiter)
			drops = drops - 1
		end
	end
end

-- Grants the free lock to a waiter, which has to confirm it before the grant
-- ends.  Its beat ends with the grant, not sooner: a waiter that has the lock
-- must not lose its place.
local function grant(waiter, its_limit, its_id, details)
	local its = value_of(its_id, now_us, details)
	if hold(waiter, its_limit, its .. MARK, GRANT_MS) == true then
		slot_of[waiter] = slot
		attempt('HSET', beat, waiter, lasting(GRANT_MS, its_limit .. ' ' .. its_id .. details))
	end
end

-- What is free is handed over to those whose turn it is, readers together, and
-- they have to confirm it in time.  Several servers could disagree to whom;
-- there they are only told to ask.  Whoever is next then is told that, too.
local function pass_on(hand_over)
	for waiter, its_limit, its_id, details in waiters() do
		local shares = its_limit == 0 and (not value or value == SHARED)
		local has = slot_of[waiter] or
			shares and value and alive(redis.call('HGET', readers, waiter))
		if not has then
			local turn = shares or not value
			wake(waiter)
			if hand_over and turn and its_limit >= (shares and 0 or slot) then
				grant(waiter, its_limit, its_id, details)
			elseif turn then
				hurry(waiter)
			end
			if not shares then
				return
			end
		end
	end
end

-- What a refusal tells: whose it is, for how long yet (-1: for ever, -2: it
-- is free), the server's time in us, how many share it, which slot is free or
-- will be so first, and how long that takes.
local function refusal()
	local last, n = sharing()
	local its, best = last or value, best_slot()
	return {0, its and its:sub(1, 1024), redis.call('PTTL', lock), now_us, n, best, redis.call('PTTL', slot_key(best))}
end

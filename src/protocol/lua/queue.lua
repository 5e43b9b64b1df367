-- Those who wait, and handing the lock to them.

-- What may be left undone where there is no memory for it, but for no other
-- reason.
local function attempt(...)
	local done = redis.pcall(...)
	if type(done) == 'table' and done.err and not done.err:find('OOM', 1, true) then
		return call(...)
	end
end

-- Wakes a waiter: to ask, or with a grant.
local function wake(waiter, granted_here)
	local list = KEYS[2] .. 'wake:' .. waiter
	if granted_here then
		call('DEL', list)
	end
	if granted_here or call('EXISTS', list) == 0 then
		attempt('LPUSH', list, granted_here or 1)
		redis.pcall('PEXPIRE', list, 2 * HANDOVER_MS)
	end
end

-- Counts a waiter whose turn it is as dead if it does not ask in time.
local function hurry(waiter)
	local its, until_us = alive(call('HGET', beat, waiter))
	if its and until_us > now_us() + GRANT_MS * 1e3 then
		attempt('HSET', beat, waiter, lasting(GRANT_MS, its))
	end
end

-- Returns whether it was a waiter.
local function leave(waiter)
	if length == 0 or call('ZREM', queue, waiter) == 0 then
		return false
	end
	call('HDEL', beat, waiter)
	call('DEL', KEYS[2] .. 'wake:' .. waiter)
	return true
end

-- What the beat of a living waiter says of it; nil if it is dead.
local function beat_of(waiter)
	local said = alive(call('HGET', beat, waiter))
	local its_mode, its_capacity, its_id, details = (said or ''):match(
		'^(%l+) (%d+) (redlock%-run/2 token=%S+ try=%d+ )(.*)$')
	if not its_mode then
		return nil
	end
	local before, nonce = details:match('^(.*) nonce=(%d+)$')
	return {
		said = said,
		exclusive = its_mode == 'exclusive',
		shares = its_mode == 'shared',
		slots = its_mode == 'slots',
		capacity = tonumber(its_capacity),
		id = its_id,
		details = before or details,
		nonce = nonce,
	}
end

-- The living waiters and what their beats say, in their turn; the dead are
-- dropped.  Behind too many dead it finds nobody: a living waiter there is
-- passed over, so that no call blocks the server for long.
local drops = DROPS
local function waiters()
	local n = 0
	return function()
		while drops > 0 and n < length do
			local waiter = call('ZRANGE', queue, n, n)[1]
			if not waiter then
				return nil
			end
			local its = beat_of(waiter)
			if its then
				n = n + 1
				return waiter, its
			end
			leave(waiter)
			drops = drops - 1
		end
	end
end

-- Grants the free lock to a waiter, which has to confirm it before the grant
-- ends.  Its beat ends with the grant, not sooner: a waiter that has the lock
-- must not lose its place.
-- From an exclusive holder, which has a fence, to another one the grant goes
-- with the wake.  The waiter counts it from the acquire that wrote the nonce, so
-- the nonce comes back, and not before everything else is done.
local function grant(waiter, its, our_fence, proposal)
	local carried = our_fence and its.nonce and its.exclusive and mode == 'exclusive'
	local ms, element = carried and HANDOVER_MS or GRANT_MS, nil
	if hold(waiter, its.shares, value_of(its.id, its.details) .. MARK, ms) == true then
		slot_of[waiter] = slot
		attempt('HSET', beat, waiter, lasting(ms, its.said))
		if carried then
			local next_fence = fence_next(math.max(fence(), our_fence), proposal)
			element = string.format('%s %.0f %d', its.nonce, next_fence, ms)
		end
	end
	wake(waiter, element)
end

-- What is free is handed over to those whose turn it is, readers together, and
-- they have to confirm it in time.  Several servers could disagree to whom;
-- there they are only told to ask.  Whoever is next then is told that, too.
-- Who has a fence, and proposes the next one, passes both on.
local function pass_on(hand_over, our_fence, proposal)
	for waiter, its in waiters() do
		local shares = its.shares and (not value or value == SHARED)
		local has = slot_of[waiter] or
			shares and value and alive(call('HGET', readers, waiter))
		if not has then
			local turn = shares or not value
			if hand_over and turn and (shares or its.capacity >= slot) then
				grant(waiter, its, our_fence, proposal)
			else
				wake(waiter)
				if turn then
					hurry(waiter)
				end
			end
			if not shares then
				return
			end
		end
	end
end

-- The queue, and handing the lock over to its waiters.

local drops = DROPS -- how many dead waiters this script may still remove

-- Calls a command that may fail when memory is short; any other error ends the
-- script.  Returns what the command does; an error as a table.
local function attempt(...)
	local done = redis.pcall(...)
	if type(done) == 'table' and done.err and not done.err:find('OOM', 1, true) then
		return call(...)
	end
	return done
end

-- Wakes a waiter: to send an acquire, or with a grant.
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

-- Shortens the beat of a waiter whose turn it is, so that it counts as dead if
-- it sends no acquire in time.
local function hurry(waiter)
	local its, until_us = alive(call('HGET', beat, waiter))
	local ms = its and within_lease(its, GRANT_MS)
	if its and until_us > now_us() + ms * 1e3 then
		attempt('HSET', beat, waiter, lasting(ms, its))
	end
end

-- Removes a waiter from the queue.  Returns whether it was there.
local function leave(waiter)
	if length == 0 or call('ZREM', queue, waiter) == 0 then
		return false
	end
	call('HDEL', beat, waiter)
	call('DEL', KEYS[2] .. 'wake:' .. waiter)
	return true
end

-- Returns a living waiter's beat; nil if the waiter is dead.  A waiter of a kind
-- that only another version knows counts as exclusive.  It takes no grant,
-- because its value is unknown.
local KINDS = {exclusive = true, shared = true, slots = true}
local function beat_of(waiter)
	local said = alive(call('HGET', beat, waiter))
	if not said then
		return nil
	end
	local its_mode, its_capacity, fields, its_id, details = said:match(
		'^(%S+) (%d+) (.-)(redlock%-run/%d+ token=%S+ try=%d+ )(.*)$')
	local known = KINDS[its_mode or ''] or false
	return {
		said = said,
		known = known,
		exclusive = its_mode == 'exclusive',
		shares = its_mode == 'shared',
		slots = its_mode == 'slots',
		capacity = tonumber(its_capacity) or 1,
		id = its_id or 'redlock-run/2 token=' .. waiter .. ' try=0 ',
		details = details or '',
		fields = fields or '',
		nonce = not known and '0' or field(fields, 'nonce'),
	}
end

-- Iterates over the living waiters and their beats in the order of their
-- tickets, and removes dead ones.  Stops after a limited number of dead
-- waiters, even if living ones follow, so that no call blocks the server for
-- long.
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

-- Whether a beat is of a run with --latest that has chosen its ticket.
local function is_latest(its)
	return its.exclusive and field(its.fields, 'latest') == '1'
end

-- Returns the beat and the token of the living run that supersedes this waiter,
-- the last with --latest behind it.  With several servers only the tickets that
-- runs have chosen put all servers' queues in one order, so of two runs no more
-- than one is superseded by the other.  Looks at the last waiters only.
local LAST = 200
local function superseder(waiter, its)
	if not is_latest(its) then
		return nil
	end
	local last = call('ZRANGE', queue, -LAST, -1)
	for n = #last, 1, -1 do
		if last[n] == waiter then
			return nil
		end
		local later = beat_of(last[n])
		if later and is_latest(later) then
			return later, last[n]
		end
	end
end

-- Whether a waiter has the lock already: it has not left the queue yet.
local function has_lock(waiter, its)
	return slot_held(waiter) or
		its.shares and value == SHARED and alive(call('HGET', readers, waiter))
end

-- Grants the free lock to a waiter, which has to confirm it before the grant
-- ends.  The waiter's beat lasts as long as the grant, so that a waiter with
-- the lock keeps its place.  If both the last holder and the waiter are
-- exclusive, the grant comes with the wake.  The waiter counts it from the
-- acquire that wrote the nonce, so the nonce is sent back, and only when
-- everything else is done.
local function grant(waiter, its, our_fence, proposal)
	local carried = our_fence and its.nonce and its.exclusive and mode == 'exclusive'
	local ms, element = within_lease(its.said, carried and HANDOVER_MS or GRANT_MS), nil
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

-- Hands a free lock over to the first waiter, or to all readers at the head;
-- they have to confirm it in time.  Several servers could choose different
-- waiters, so there the waiters are only woken, and so is a waiter that takes no
-- grant or is superseded.  If the lease of the first is so short that its turn ends
-- before the second would ask, the second is woken as well: the first may be dead.
-- our_fence and proposal, if given, are the last holder's, and go into a grant with
-- the wake.
local function pass_on(hand_over, our_fence, proposal)
	local second = false
	for waiter, its in waiters() do
		local shares = its.shares and (not value or value == SHARED)
		if not has_lock(waiter, its) then
			local turn = shares or not value
			if second then
				wake(waiter)
				return
			end
			if hand_over and turn and its.nonce ~= '0' and
				(shares or its.capacity >= slot) and
				not superseder(waiter, its) then
				grant(waiter, its, our_fence, proposal)
			else
				wake(waiter)
				if turn then
					hurry(waiter)
				end
			end
			if not shares then
				second = turn and within_lease(its.said, HANDOVER_MS) < HANDOVER_MS
				if not second then
					return
				end
			end
		end
	end
end

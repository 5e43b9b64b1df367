-- acquire.  It may be repeated.
-- ARGV:
--	details		the rest of the value
--	ttl		in ms
--	proposal	ours for the fence, in us
--	ticket		ours, in us; 0: none yet
--	heartbeat	in ms; 0: do not queue; HEARTBEAT_MS: we wait
--	only		1 if this is the only server; with several a vote does not
--			leave the queue
--	start		the start of the run for the history, if this lock starts it
--	nonce		if we could take a grant with the wake
--	heals		1 if the run already holds the lock on other servers
--	once_per	--once-per in ms, which refuses the run if a successful one
--			began less than that ago; 0: none
--	skip_busy	the reason for the history if a refusal without a place skips
--			the run, or ""
--	skip_mode	the same if another mode is the reason
--	latest		1 with --latest; the others do not send it, and have the
--			name of the part here
--	max_waiting	--max-waiting of a newcomer, with 0 as latest.  The others do
--			not send it either
local details, ttl, ticket, heartbeat = ARG.details, ARG.ttl, tonumber(ARG.ticket), tonumber(ARG.heartbeat)
local only, start, heals, once_per = ARG.only == '1', ARG.start, ARG.heals == '1', tonumber(ARG.once_per)
local latest = ARG.latest == '1'
local nonce = once_per > 0 and 'nonce=0 ' or ARG.nonce ~= '' and 'nonce=' .. ARG.nonce .. ' ' or ''
local max_waiting = tonumber(ARG.max_waiting)
local SWEEP, SHARE, SLACK_MS = 64, 4, 60000

-- Whether this attempt is over; the slot that an older attempt of ours had; the
-- waiter before us, see in_our_way(); the value of the run that supersedes us; and
-- our value, once this script has taken the lock.
local over, left, first, later, fresh

-- Returns the ticket of a newcomer: the time, but later than the last ticket in
-- the queue, so that nobody passes the others when the server's clock is set
-- back.  With several servers no ticket may be more than a day ahead.
local function next_ticket()
	local last = tonumber(call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)
	return last < (only and 9e15 - 1 or now_us() + 864e8) and math.max(now_us(), last + 1) or now_us()
end

-- Wakes the runs before us that we supersede: they ask, and are refused.  One that
-- has the lock already runs.
local function wake_superseded()
	local last = call('ZRANGE', queue, -LAST, -1)
	local n = #last
	while n > 0 and last[n] ~= token do
		n = n - 1
	end
	for i = 1, n - 1 do
		local its = beat_of(last[i])
		if its and is_latest(its) and not slot_held(last[i]) then
			wake(last[i])
		end
	end
end

-- Joins the queue or stays in it; without a ticket in the order of arrival.  If
-- memory is short the run is refused all the same, without a place.  Returns an
-- error if the user may not leave again; nobody grants to the place then.
local function join()
	local new
	if ticket > 0 then
		new = attempt('ZADD', queue, string.format('%.0f', ticket), token) == 1
	else
		new = attempt('ZADD', queue, 'NX', string.format('%.0f', next_ticket()), token) == 1
	end
	-- One server gives the ticket that the run will choose.
	local chosen = latest and (only or ticket > 0)
	local before = chosen and beat_of(token)
	local fields = 'beat=' .. ARG.heartbeat .. (chosen and ' latest=1 ' or ' ') .. nonce ..
		(heartbeat == HEARTBEAT_MS and '' or 'waits=0 ')
	local said = mode .. ' ' .. capacity .. ' ' .. fields .. id .. details
	attempt('HSET', beat, token, lasting(heartbeat, said))
	if call('PTTL', queue) < 1.5 * heartbeat then
		redis.pcall('PEXPIRE', queue, 2 * heartbeat)
		redis.pcall('PEXPIRE', beat, 2 * heartbeat)
	end
	length, queues = length + 1, true
	local failed = new and lacks_right()
	if failed then
		call('HSET', beat, token, lasting(-1, said))
		pcall(leave, token)
	elseif chosen and not (before and is_latest(before)) then
		wake_superseded()
	end
	return failed
end

-- Returns the waiter that has to get the lock before us: it has an earlier
-- ticket, and no free place would be left for it.  Readers share a place.
local function in_our_way()
	local places
	local shares = shared and (not value or value == SHARED)
	for waiter, its in waiters() do
		local its_slot = (its.slots or not its.known) and slot_held(waiter) or slot
		if waiter == token then
			return nil
		elseif its_slot == slot and not (shares and its.shares) then
			places = (places or free_slots() - (ours and 0 or 1)) - 1
			if places < 0 or shares or not its.known then
				return waiter
			end
		end
	end
end

-- If the server's clock was set back, expiries lie too far ahead.  A refusal cuts
-- those that their own length cannot explain: of a lease its TTL, of a cooldown
-- its --min-hold.  A holder's lease still counts from a request sent before.
-- Small steps of a clock cut nothing, and neither does a value that names no
-- length or is not ours.  A failure changes no refusal.
local function longest(its)
	local kept = its:match('^cooldown (.*)$')
	return token_of(kept or its) and length_in(kept or its, kept and 'hold' or 'ttl')
end

-- Returns when an entry that lasts until until_us has to end.  A longer one is
-- written anew, for ms.
local function cut_entry(key, who, what, until_us, ms)
	if not ms or until_us <= now_us() + (ms + SLACK_MS) * 1e3 then
		return until_us
	end
	call('HSET', key, who, lasting(ms, what))
	return now_us() + ms * 1e3
end

local function cut_key(key, ms)
	call('PEXPIRE', key, ms)
	forget_survey() -- which has its remaining time
end

-- The key that readers share lasts no longer than the last of them.
local function cut_readers()
	local all, last_us = call('HGETALL', readers), nil
	for i = 1, #all, 2 do
		local until_us, its = all[i + 1]:match('^(%d+) (.*)$')
		if its then
			until_us = cut_entry(readers, all[i], its, tonumber(until_us), longest(its))
			last_us = math.max(last_us or 0, until_us)
		end
	end
	local ms = last_us and math.max(math.ceil((last_us - now_us()) / 1e3), 1)
	if ms and call('PTTL', KEYS[1]) > ms + SLACK_MS then
		cut_key(KEYS[1], ms)
		call('PEXPIRE', readers, ms)
	end
end

local function cut_slot(n)
	local key = slot_key(n)
	local left_ms = call('PTTL', key)
	local its = left_ms > SLACK_MS and read(key)
	local ms = its and longest(its)
	if its == SHARED then
		cut_readers()
	elseif ms and left_ms > ms + SLACK_MS then
		cut_key(key, ms)
	end
end

-- No slot lasts longer than the number of slots.
local function cut_lock()
	cut_slot(1)
	local n = others and call('PTTL', KEYS[2] .. 'slots') > SLACK_MS and
		tonumber(redis.pcall('GET', KEYS[2] .. 'slots')) or 1
	for i = 2, math.min(n, LOCK_SLOTS) do
		cut_slot(i)
	end
end

local function cut_beat(waiter)
	local its, until_us = alive(call('HGET', beat, waiter))
	local fields = its and its:match('^%S+ %S+ (.-)redlock%-run/')
	if fields then
		cut_entry(beat, waiter, its, until_us, length_in(fields, 'beat'))
	end
end

-- Removes dead waiters from a part of the queue, another part each time, so
-- that they do not pile up behind the living.  Of a long queue the part is
-- small, since many waiters send this, but grows where it finds dead ones.
-- Returns the length of the queue and our place in it, or 0 if the place is
-- beyond the part looked at.
local function sweep()
	local n, living, place = call('ZCARD', queue), 0, 0
	local long = n > SWEEP
	local from, size, looked = long and now_us() % n or 0, long and SHARE or SWEEP, 0
	repeat
		local dead = 0
		for _, waiter in ipairs(call('ZRANGE', queue, from, from + size - 1)) do
			local its, until_us = alive(call('HGET', beat, waiter))
			if its then
				if until_us > now_us() + SLACK_MS * 1e3 then
					pcall(cut_beat, waiter)
				end
				living = living + 1
				place = not long and waiter == token and living or place
			else
				leave(waiter)
				dead = dead + 1
			end
		end
		n, from, looked = n - dead, from + size - dead, looked + size
	until dead == 0 or looked >= SWEEP
	return n, place
end

-- Modes must agree: a lock is shared and exclusive, or it has N slots.  Returns
-- the value of a holder, a cooldown or a waiter in another mode, and whether it
-- is a reader.  The values decide; the key "slots" gives the number of slots to
-- check.
local function used_otherwise()
	local wanted = mode == 'slots' and capacity or 1
	local function differs(its)
		return its and token_of((without_state(its))) and (number_in(its, 'slots') or 1) ~= wanted
	end
	local first = slot == 1 and value or read(KEYS[1])
	if differs(first) then
		return first
	elseif first == SHARED and wanted > 1 then
		pick_slot(1)
		return (sharing()), true
	end
	local n = tonumber(redis.pcall('GET', KEYS[2] .. 'slots'))
	if n and n ~= wanted and n <= LOCK_SLOTS then
		local keys = {}
		for i = 1, n do
			keys[i] = slot_key(i)
		end
		for _, other in ipairs(call('MGET', unpack(keys))) do
			if differs(other) then
				return other
			end
		end
	end
	for waiter, said in waiters() do
		if waiter ~= token and said.known then
			if (said.slots and said.capacity or 1) ~= wanted then
				pcall(cut_beat, waiter)
				return value_of(said.id, said.details, call('ZSCORE', queue, waiter)), said.shares
			end
			return nil
		end
	end
end

local function skipped(reply, why)
	if why ~= '' then
		record_skip(id, details, start .. why, reply[REPLY.VALUE])
	end
	return reply
end

-- An earlier attempt of ours may still have the key, and is replaced; a late
-- request of an attempt that is over gets nothing.
local function replace_attempt()
	over = mine and try_of(mine) > try_of(id)
	left = mine and not ours and not over and slot_held(token)
	if left then
		free_slot(left)
		if left == slot or ARG.slot == '0' then
			pick_slot(left)
		end
	end
end

-- The slot that an older attempt of ours left is free for others, as after a
-- release.
local function pass_on_left()
	if left and left ~= slot then
		local here = slot
		forget_survey()
		pick_slot(left)
		pass_on(only)
		pick_slot(here)
	end
end

-- Returns the value of the run that supersedes us, with its ticket as since.  Our
-- ticket counts once we have chosen it.
local function superseded_by()
	local its = latest and ticket > 0 and not ours and not over and beat_of(token)
	if its and call('ZSCORE', queue, token) then
		local said, who = superseder(token, its)
		return said and value_of(said.id, said.details, call('ZSCORE', queue, who))
	end
end

-- Takes the lock if it is free for us.  Returns whether we have it, or an error as
-- a table.
local function take()
	if ours then
		return true
	elseif first or later or over or value and not (shared and value == SHARED) then
		return false
	end
	fresh = value_of(id, details)
	local held = hold(token, shared, fresh, ttl)
	if not held then
		value = foreign(lock)
		forget_survey()
	end
	return held
end

-- Returns the reply of a refusal for the holder or the first waiter.
local function busy(newcomer)
	local waiting, place = sweep()
	local reply, ticket_here = refusal(), call('ZSCORE', queue, token)
	local _, n, queued = sharing()
	local owner = token_of(value)
	reply[REPLY.AHEAD] = first and 1 or 0
	reply[REPLY.QUEUED] = (n > 0 and queued == n or owner and call('ZSCORE', queue, owner)) and 1 or 0
	reply[REPLY.WAITING] = waiting - (ticket_here and 1 or 0)
	reply[REPLY.TICKET] = tonumber(ticket_here or next_ticket())
	reply[REPLY.PLACE], reply[REPLY.REASON] = place, REASON.BUSY
	local success = newcomer and last_success()
	reply[REPLY.LAST_RAN] = success and tonumber(success:match(' ran=(%d+)')) or nil
	return reply
end

-- Returns how many runs wait if a newcomer must not join them, else nil.  Those that
-- have the lock, or a free place to take, wait no more.  A run that is in the queue
-- already sends its request once more.  Of a long queue only the head counts.
local function full_queue()
	if not max_waiting or call('ZSCORE', queue, token) then
		return nil
	end
	local places, n, most = free_slots(), 0, math.max(max_waiting, SWEEP)
	for waiter, its in waiters() do
		if not has_lock(waiter, its) then
			places = places - 1
			n = n + (places < 0 and field(its.fields, 'waits') ~= '0' and 1 or 0)
			if n == most then
				break
			end
		end
	end
	return n >= max_waiting and n or nil
end

local function refuse()
	local newcomer = heartbeat > 0 and ticket == 0 and not over
	pcall(cut_lock)
	if first and not value then
		wake(first)
		hurry(first)
	elseif later and not value then
		hurry(token) -- the others wait for us to leave the queue
	end
	local full = newcomer and full_queue()
	newcomer = newcomer and not full
	local failed = newcomer and join()
	if failed then
		return failed
	end
	local reply = busy(newcomer)
	pass_on_left()
	if full then
		reply[REPLY.WAITING], reply[REPLY.REASON] = full, REASON.FULL
	end
	if not over and (heartbeat == 0 or full) then
		skipped(reply, ARG.skip_busy)
	end
	local writer = heartbeat == 0 and first and shared and value == SHARED and beat_of(first)
	if writer then
		reply[REPLY.VALUE], reply[REPLY.REASON] = value_of(writer.id, writer.details), REASON.BEHIND
	elseif later then
		reply[REPLY.VALUE], reply[REPLY.REASON] = later:sub(1, 1024), REASON.SUPERSEDED
	end
	return reply
end

if not mine and not heals then
	local its, shares = used_otherwise()
	if its then
		pcall(cut_lock)
		return skipped(refused_for(REASON.MODE, its, shares), ARG.skip_mode)
	end
end
replace_attempt()
-- A run that has waited for another to fail leaves the queue once that succeeds.
local success = once_per > 0 and not ours and not over and ran_lately(once_per)
if success then
	if leave(token) or not value then
		pass_on(only)
	end
	return refused_for(REASON.RAN, success)
end
if ours then
	prolong(ttl)
end
if heartbeat > 0 and ticket > 0 and not (ours and only or over) then
	local failed = join()
	if failed then
		return failed
	end
end
queues = queues or heartbeat > 0 and not only
first, later = in_our_way(), superseded_by()
local held = take()
if held ~= true then
	return held or refuse()
end
if only then
	leave(token)
	pass_on(true)
elseif heartbeat > 0 then
	join()
end
pass_on_left()
return granted(fresh or mine, ARG.proposal, only or fresh, (fresh or unconfirmed) and start or '', first and 1 or 0)

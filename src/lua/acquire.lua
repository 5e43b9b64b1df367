-- acquire: rest of the value, TTL in ms, fence proposal in us, ticket in us (0:
-- none yet), heartbeat in ms (0: do not queue), 1 if this is the only server
-- (among several a vote does not leave the queue), and how the run starts, if
-- it does with this lock.
-- Answers 1, the fence, whether a living waiter comes before us, and the slot;
-- or a refusal, the same, whether the owner is itself in the queue, and how
-- many others wait.
-- Repeating it is harmless.
local details, ttl, proposal = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local ticket, heartbeat, only = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10] == '1'

-- Joins the queue or stays in it; without a ticket in the order of arrival.
-- Where there is no memory for that we are refused all the same.
local function join()
	if ticket > 0 then
		attempt('ZADD', queue, string.format('%.0f', ticket), token)
	else
		attempt('ZADD', queue, 'NX', string.format('%.0f', now_us), token)
	end
	attempt('HSET', beat, token, lasting(heartbeat, limit .. ' ' .. id .. details))
	local ms = math.max(2 * heartbeat, redis.call('PTTL', queue))
	redis.pcall('PEXPIRE', queue, ms)
	redis.pcall('PEXPIRE', beat, ms)
end

-- The waiter who has to be served before us: it has an earlier ticket, and if
-- we took a place there would be none for it.  Readers share theirs.
local function in_our_way()
	local places = free - (ours and 0 or 1)
	local shares = limit == 0 and (not value or value == SHARED)
	for waiter, its_limit in waiters() do
		local its_slot = limit > 1 and slot_of[waiter] or slot
		if waiter == token then
			return nil
		elseif its_slot == slot and not (shares and its_limit == 0) then
			places = places - 1
			if places < 0 or shares then
				return waiter
			end
		end
	end
end

-- What an attempt of ours that is over has left is ours to replace; what was
-- sent for it and comes late gets nothing.
local function try_of(its)
	return tonumber(its:match(' try=(%d+) '))
end
local over = mine and try_of(mine) > try_of(id)
local left = mine and not ours and not over and slot_of[token]
if left then
	redis.call('DEL', slot_key(left))
	values[left], free, slot_of[token] = false, free + 1, nil
	if left == slot or ARGV[4] == '0' then
		slot, lock, value = left, slot_key(left), false
	end
end
if ours then
	prolong(ttl)
end
-- The counter is raised once in a tenure; what was handed to us is a new one.
local handed = ours and only and redis.call('ZSCORE', queue, token)
if heartbeat > 0 and ticket > 0 and not handed then
	join()
end
local first = in_our_way()
if not ours and (first or over or value and not (limit == 0 and value == SHARED)) then
	if first and not value then
		wake(first)
	end
	if heartbeat > 0 and ticket == 0 then
		join()
	end
	local answer = refusal()
	local _, n, queued = sharing()
	local owner = (value or ''):match('^redlock%-run/1 token=(%S+)')
	answer[8] = first and 1 or 0
	answer[9] = (n > 0 and queued == n or owner and redis.call('ZSCORE', queue, owner)) and 1 or 0
	answer[10] = redis.call('ZCARD', queue) - (redis.call('ZSCORE', queue, token) and 1 or 0)
	return answer
elseif not ours then
	local failed = hold(token, limit, value_of(id, now_us, details), ttl)
	if failed then
		return failed
	end
end
if only then
	leave(token)
	pass_on(true)
elseif heartbeat > 0 then
	join()
end
local last = fence()
if not ours or handed or last == 0 then
	last = fence_raise(last, math.max(last + 1, math.min(proposal, now_us + 6e7)))
end
if (not ours or handed) and ARGV[11] ~= '' then
	record('start', ours and mine or value_of(id, now_us, details), ARGV[11])
end
return {1, last, first and 1 or 0, slot}

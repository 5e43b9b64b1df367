-- The state of the lock: its slots and readers, and the reply of a refusal.

-- The value of each slot (false: free), the number of free slots, and the slot
-- of each holder by token.
local values, free, slot_of = {value}, 0, {}
if mode == 'slots' then
	local keys = {}
	for n = 1, capacity do
		keys[n] = slot_key(n)
	end
	values = call('MGET', unpack(keys))
	local absent = {}
	for n, its in ipairs(values) do
		absent[#absent + 1] = not its and keys[n] or nil
	end
	-- MGET returns nil for keys of another type.
	if #absent > 0 and call('EXISTS', unpack(absent)) > 0 then
		for n, its in ipairs(values) do
			values[n] = its or call('EXISTS', keys[n]) == 1 and foreign(keys[n])
		end
	end
end
for n, its in ipairs(values) do
	local owner = token_of(its)
	if owner then
		slot_of[owner] = n
	end
	free = free + (its and 0 or 1)
end

-- Returns the first free slot, or else the first to become free; and its
-- remaining time.
local function best_slot()
	local best, best_ms = 1, nil
	for n = 1, #values do
		local ms = values[n] and call('PTTL', slot_key(n)) or PTTL_FREE
		if not best_ms or ms ~= PTTL_NONE and (ms < best_ms or best_ms == PTTL_NONE) then
			best, best_ms = n, ms
		end
	end
	return best, best_ms
end

-- Makes n the slot of this script.
local function pick_slot(n)
	slot, lock, value = n, slot_key(n), values[n]
end
if mode == 'slots' and slot_of[token] then
	if not mine then
		claim(values[slot_of[token]])
	end
	if ours then
		pick_slot(slot_of[token])
	end
end
if slot == 0 then
	pick_slot((best_slot()))
end

-- Frees the slot of this script.
local function free_slot()
	call('DEL', lock)
	value, values[slot] = false, false
end

-- Deletes the number of slots once no run holds one.
local function forget_slots()
	if mode ~= 'slots' or value then
		return
	end
	for _, its in ipairs(values) do
		if its and its:find('redlock-run/2 token=', 1, true) then
			return
		end
	end
	call('DEL', KEYS[2] .. 'slots')
end

-- Returns the value of the living reader with the latest deadline, how many
-- readers live, how many of them are in the queue, and that deadline.  Removes
-- some of the dead, except for a query.
local DROPS = 200
local function sharing()
	local last, n, queued, last_us, drops = nil, 0, 0, 0, id == '' and 0 or DROPS
	local all = value == SHARED and call('HGETALL', readers) or {}
	for i = 1, #all, 2 do
		local its, until_us = alive(all[i + 1])
		if not its and drops > 0 then
			call('HDEL', readers, all[i])
			drops = drops - 1
		elseif its then
			n = n + 1
			queued = queued + (call('ZSCORE', queue, all[i]) and 1 or 0)
			if until_us > last_us then
				last, last_us = its, until_us
			end
		end
	end
	return last, n, queued, last_us
end

-- After a reader has left: keeps the lock until the last reader's deadline.
local function share_until_last()
	local _, n, _, last_us = sharing()
	if n == 0 then
		call('DEL', lock, readers)
		value = false
	else
		local ms = math.ceil((last_us - now_us()) / 1e3)
		call('PEXPIRE', lock, ms)
		call('PEXPIRE', readers, ms)
	end
end

-- Returns "by=USER@HOST" of the --break of our lock, from the history, or
-- false.
local function breaker()
	local runs = redis.pcall('XREVRANGE', KEYS[2] .. 'runs', '+', '-', 'COUNT', 100)
	for _, entry in ipairs(runs) do
		local fields = entry[2]
		if fields[1] == 'broken' and token_of(fields[2]) == token then
			return fields[2]:match(' (by=%S+)$') or false
		end
	end
	return false
end

-- Returns the reply of a refusal, up to BEST_PTTL; its VALUE is the last
-- reader's.
local function refusal()
	local last, n = sharing()
	local its, best, best_ms = last or value, best_slot()
	local ms = best == slot and best_ms or call('PTTL', lock)
	return {0, 0, 0, slot, now_us(), its and its:sub(1, 1024), ms, n, best, best_ms}
end

-- Returns the refusal for a run that has lost its lock, up to BROKEN.
local function loss()
	local reply = refusal()
	reply[QUEUED], reply[WAITING], reply[TICKET], reply[PLACE] = 0, 0, 0, 0
	reply[REASON], reply[BROKEN] = BUSY, breaker()
	return reply
end

-- The slots, and their holders.  In the other modes there is one slot.  The keys
-- of the slots decide, and only SET NX takes a slot.

-- The results of survey(): the value of each slot (false: free), the number of
-- free slots, and the slot of each holder by token; and the result of best_slot().
local values, free, slot_of, best, best_ms = nil, 0, {}, nil, nil
local function survey()
	if values then
		return
	end
	values, free, slot_of, best = {value}, 0, {}, nil
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
		if not its then
			free = free + 1
			best, best_ms = best or n, PTTL_FREE
		end
	end
end

-- Returns how many slots are free.
local function free_slots()
	survey()
	return free
end

-- Returns the first free slot, or else the first to become free; and its
-- remaining time.
local function best_slot()
	survey()
	for n = 1, best and 0 or #values do
		local ms = call('PTTL', slot_key(n))
		if not best or ms ~= PTTL_NONE and (ms < best_ms or best_ms == PTTL_NONE) then
			best, best_ms = n, ms
		end
	end
	return best, best_ms
end

-- Returns the slot of this token, if it holds one.
local function slot_held(who)
	if not slot_of[who] then
		survey()
	end
	return slot_of[who]
end

-- Makes n the slot of this script.
local function pick_slot(n)
	slot, lock = n, slot_key(n)
	value = values and values[n] or not values and read(lock)
end

-- Drops the results of survey() after a change.
local function forget_survey()
	values, slot_of = nil, {}
end

-- Frees slot n.
local function free_slot(n)
	call('DEL', slot_key(n))
	if n == slot then
		value = false
	end
	forget_survey()
end

-- Deletes the number of slots once no run holds one.
local function forget_slots()
	if mode ~= 'slots' or value then
		return
	end
	survey()
	for _, its in ipairs(values) do
		if its and token_of((without_state(its))) then
			return
		end
	end
	call('DEL', KEYS[2] .. 'slots')
end

if mine and not shared then
	slot_of[token] = math.max(slot, 1)
elseif mode == 'slots' and id ~= '' and slot_held(token) then
	claim(read(slot_key(slot_held(token))))
end
if mode == 'slots' and ours then
	pick_slot(slot_of[token])
end
if slot == 0 then
	pick_slot((best_slot()))
end

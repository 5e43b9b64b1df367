-- The slots, and their holders.  In the other modes there is one slot.
--
-- The keys of the slots decide, and only SET NX takes a slot.  Reading all of
-- them takes long.  If there are more than FEW, the sorted set "taken" is an
-- index of the taken slots.  A member is the holder's token, or the number of
-- the slot if it has none; its score is UNTIL_MS * 1000 + SLOT - 1. The member
-- "whole", with the capacity as score, sorts first and marks a complete index.
-- A script checks the key of each slot in the index that it uses.  If the index
-- is missing, incomplete or wrong, the script reads all slots, and acquire
-- writes the index anew.

local taken = KEYS[2] .. 'taken'

-- The results of survey(): the value of each slot (false: free), the number of
-- free slots, and the slot of each holder by token.
local values, free, slot_of = nil, 0, {}
local function survey()
	if values then
		return
	end
	values, free, slot_of = {value}, 0, {}
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
end

-- The index in short: the number of taken slots, the first one to become free,
-- and when.  False if the index cannot be used.
local index

-- Returns the slot in a score of the index; nil if there is none.
local function slot_in(score)
	local n = tonumber(score)
	n = n and n >= 0 and math.floor(n % 1000) + 1
	return n and n <= capacity and n or nil
end

-- Reads the index.  Returns whether to use it: false once a survey has read all
-- slots.
local function indexed()
	if index == nil then
		local first = mode == 'slots' and capacity > FEW and
			redis.pcall('ZRANGE', taken, 0, 1, 'WITHSCORES') or {}
		index = first[1] == 'whole' and tonumber(first[2]) == capacity and {
			count = call('ZCARD', taken) - 1,
			first = slot_in(first[4]),
			until_us = (tonumber(first[4]) or 0),
		}
	end
	return index and not values
end

-- Returns whether all slots are taken.  If a key is deleted by hand, the index
-- hides that slot until its lease would have ended, or until a script checks
-- it.  Slot 1 is always checked: other programs take and release it.
local SAMPLE = 4
local function all_taken()
	if indexed() and index.full == nil then
		index.full = index.count >= capacity
		local sample = {slot_key(1), slot_key(index.first or 1)}
		for i = 1, SAMPLE do
			sample[i + 2] = slot_key((now_us() + i) % capacity + 1)
		end
		if index.full and (not index.first or index.until_us <= now_us() or
			call('EXISTS', unpack(sample)) < #sample) then
			index = false
		end
	end
	if indexed() then
		return index.full
	end
	survey()
	return free == 0
end

-- Returns how many slots are free.
local function free_slots()
	if all_taken() then
		return 0
	end
	survey()
	return free
end

-- Returns the first free slot, reading FEW at a time.
local function first_free()
	for from = 1, capacity, FEW do
		local keys = {}
		for n = from, math.min(from + FEW - 1, capacity) do
			keys[#keys + 1] = slot_key(n)
		end
		for n = 1, call('EXISTS', unpack(keys)) < #keys and #keys or 0 do
			if call('EXISTS', keys[n]) == 0 then
				return from + n - 1
			end
		end
	end
end

-- Returns the first free slot, or else the first to become free; and its
-- remaining time.
local function best_slot()
	local all = all_taken()
	if indexed() then
		local n = all and index.first or first_free()
		if n then
			return n, all and call('PTTL', slot_key(n)) or PTTL_FREE
		end
		index = false
	end
	survey()
	local best, best_ms = 1, nil
	for n = 1, #values do
		local ms = values[n] and call('PTTL', slot_key(n)) or PTTL_FREE
		if ms == PTTL_FREE then
			return n, ms
		elseif not best_ms or ms ~= PTTL_NONE and (ms < best_ms or best_ms == PTTL_NONE) then
			best, best_ms = n, ms
		end
	end
	return best, best_ms
end

-- Returns the slot of this token, if it holds one.
local function slot_held(who)
	if not slot_of[who] and indexed() then
		local n = slot_in(redis.pcall('ZSCORE', taken, who))
		if not n or token_of(read(slot_key(n))) == who then
			slot_of[who] = n
			return n
		end
		index = false
	end
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

-- Drops the results of survey() and the index after a change.
local function forget_survey()
	values, index, slot_of = nil, nil, {}
end

-- Frees slot n, whose member of the index is `who`.
local function free_slot(n, who)
	call('DEL', slot_key(n))
	if capacity > FEW then
		redis.pcall('ZREM', taken, who)
	end
	if n == slot then
		value = false
	end
	forget_survey()
end

-- Writes the index from the results of survey().
local function index_all()
	local entries, longest, seen = {capacity, 'whole'}, GRANT_MS, {}
	for n, its in ipairs(values) do
		if its then
			local ms, who = call('PTTL', slot_key(n)), its:match(' token=(%S+)')
			if not who or seen[who] then
				who = n
			end
			seen[who], longest = true, math.max(longest, ms)
			entries[#entries + 1], entries[#entries + 2] = index_score(n, ms), who
		end
	end
	call('DEL', taken)
	redis.pcall('ZADD', taken, unpack(entries))
	redis.pcall('PEXPIRE', taken, math.max(longest, call('PTTL', KEYS[2] .. 'slots')))
end

-- Deletes the number of slots, and their index, once no run holds one.
local function forget_slots()
	local function of_run(its)
		return its and its:find('redlock-run/2 token=', 1, true)
	end
	if mode ~= 'slots' or value then
		return
	end
	if indexed() then
		local last = slot_in(redis.pcall('ZRANGE', taken, -1, -1, 'WITHSCORES')[2])
		if last and of_run(read(slot_key(last))) then
			return
		end
	end
	survey()
	for _, its in ipairs(values) do
		if of_run(its) then
			return
		end
	end
	call('DEL', KEYS[2] .. 'slots', taken)
end

-- The holder of the lock.

local beat, readers = KEYS[2] .. 'beat', KEYS[2] .. 'readers'
local mine -- the value of our token, in any slot or share

-- Returns an entry that is valid for ms: its deadline and what.
local function lasting(ms, what)
	return string.format('%.0f %s', now_us() + ms * 1e3, what)
end

-- Returns the entry without its deadline, and the deadline; nothing once that
-- has passed.
local function alive(entry)
	local until_us, what = (entry or ''):match('^(%d+) (.*)$')
	until_us = tonumber(until_us or 0)
	if until_us >= now_us() then
		return what, until_us
	end
end

-- Returns the token in a value of redlock-run, of any version, else nil.
local function token_of(its)
	return its and its:match(OURS)
end

-- Returns the attempt in a value of our token.
local function try_of(its)
	return tonumber(its:match(' try=(%d+) '))
end

-- Returns a value without the state in front of it, and that state.
local function without_state(its)
	local state, rest = its:match('^(%l+) (.*)$')
	return rest or its, state
end

-- Returns ms, or the length of the lease that a waiter asks for if that is less:
-- nothing that a dead waiter leaves may last longer than its lease.  Its value or
-- beat names the lease, or else the longest one that it may ask for.
local function within_lease(its, ms)
	return math.min(ms, length_in(its, 'lease') or length_in(its, 'ttl') or ms)
end

-- Takes its for the value of our token.
local function claim(its)
	mine = its
	unconfirmed = mine and mine:sub(-#MARK) == MARK
	if unconfirmed then
		mine = mine:sub(1, -#MARK - 1)
	end
	ours = mine and id ~= '' and mine:sub(1, #id) == id
end

-- Extends the readers' keys to at least ms from now.
local function share_for(ms)
	ms = math.max(ms, call('PTTL', KEYS[1]))
	call('PEXPIRE', KEYS[1], ms)
	call('PEXPIRE', readers, ms)
end

-- Extends our lease to ms from now, unless it lasts longer, and confirms a grant.
local function prolong(ms)
	if shared then
		local _, until_us = alive(call('HGET', readers, token))
		ms = extended(mine, ms, math.floor(((until_us or 0) - now_us()) / 1e3))
		share_for(ms)
		call('HSET', readers, token, lasting(ms, mine))
	else
		ms = extended(mine, ms, call('PTTL', lock))
		call('PEXPIRE', lock, ms)
		keep_slots(mine, ms)
		if unconfirmed then
			call('SET', lock, mine, 'XX', 'KEEPTTL')
		end
		watch()
	end
end

-- Makes `who` the holder for ms, with the value `its`, alone or with other
-- readers.  Returns true; false if the key already exists; or an error as a
-- table.
local function hold(who, shares, its, ms)
	local joins = shares and value == SHARED
	if not joins then
		local done = set_lock(shares and SHARED or its, ms, who == token)
		if done ~= true then
			return done
		end
		value = shares and SHARED or its
		keep_slots(its, ms)
		if shares then
			call('DEL', readers)
		end
	end
	if shares then
		local done = redis.pcall('HSET', readers, who, lasting(ms, its))
		if type(done) == 'table' then
			if call('EXISTS', readers) == 0 then
				call('DEL', lock)
				value = false
			end
			return done
		end
		local failed = joins and who == token and lacks_right()
		if failed then
			call('HSET', readers, who, lasting(-1, its))
			return failed
		end
		share_for(ms)
	end
	return true
end

-- Returns the reply to a renewal for ms, up to FENCE: raises the fence to ours,
-- and records the start of the run unless start is empty.
local function renewed(ms, our_fence, start)
	prolong(ms)
	if start ~= '' then
		record('start', mine, start)
	end
	return {1, fence_raise(fence(), tonumber(our_fence))}
end

if shared then
	claim(value == SHARED and alive(call('HGET', readers, token)))
else
	claim((ours or token_of(value) == token) and value)
end

-- Put before every script.  KEYS: the lock, its fence, the queue (waiter to
-- ticket) and the beat (waiter to deadline, id and what follows in a value).
-- ARGV[1]: our id, ARGV[2]: our token.
--
-- A lock's value is the id of its owner ("redlock-run/1 token=UUID try=N "),
-- then the server's time at the taking, then who that is.  The id alone is
-- compared.  A key of another type is a value that is nobody's id.
local id, token = ARGV[1], ARGV[2]
local lock, fence_key, queue, beat = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local value = redis.pcall('GET', lock)
if type(value) == 'table' then
	if not value.err:find('WRONGTYPE', 1, true) then
		return value
	end
	value = '?'
end
local ours = value and value:sub(1, #id) == id
local time = redis.call('TIME')
local now_us = time[1] * 1e6 + time[2]

-- The fence as it stands; what is no number a fence can be counts as none.
local function fence()
	local n = tonumber(redis.pcall('GET', fence_key))
	return n and n >= 0 and n < 9e15 and n or 0
end

-- Never down, and kept for 30 days after its last use.
local function fence_raise(from, to)
	if to <= from then
		return from
	end
	redis.call('SET', fence_key, string.format('%.0f', to), 'PX', 2592000000)
	return to
end

local function value_of(id, since_us, details)
	return string.format('%ssince=%.0f %s', id, math.floor(since_us / 1000), details)
end

local function take(id, details, ms)
	return redis.pcall('SET', lock, value_of(id, now_us, details), 'PX', ms)
end

-- A beat: until when it holds, the waiter's id, what follows in its value.
local function beat_parts(its)
	return its:match('^(%d+) (redlock%-run/1 token=%S+ try=%d+ )(.*)$')
end

-- A waiter blocks on its wake list, beside the queue.
local function wake_key(waiter)
	return queue:gsub('~queue$', '~wake:') .. waiter
end

local function wake(waiter)
	if redis.call('EXISTS', wake_key(waiter)) == 0 then
		redis.pcall('LPUSH', wake_key(waiter), 1)
		redis.pcall('PEXPIRE', wake_key(waiter), 30000)
	end
end

-- A waiter that is no longer one.
local function leave(waiter)
	if redis.call('ZREM', queue, waiter) == 1 then
		redis.call('HDEL', beat, waiter)
		redis.call('DEL', wake_key(waiter))
	end
end

-- The first in the queue that is alive, and its beat; the dead are dropped.
local function head()
	while true do
		local waiter = redis.call('ZRANGE', queue, 0, 0)[1]
		local alive = waiter and redis.call('HGET', beat, waiter)
		if not waiter or alive and tonumber(alive:match('^%d+') or 0) >= now_us then
			return waiter, alive
		end
		leave(waiter)
	end
end

local function wake_head()
	local waiter = head()
	if waiter then
		wake(waiter)
	end
end

-- What the refused learn: whose it is, for how long yet (-1: for ever, -2:
-- free), and the server's time in us.
local function refusal()
	return {0, value and value:sub(1, 1024), redis.call('PTTL', lock), now_us}
end

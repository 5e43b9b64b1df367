-- Put before every script.  KEYS: the lock, its fence, the queue (waiter to
-- ticket) and the beat (waiter to deadline).  ARGV[1]: our id, ARGV[2]: our
-- token.
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

-- A waiter that is no longer one.
local function leave(waiter)
	if redis.call('ZREM', queue, waiter) == 1 then
		redis.call('HDEL', beat, waiter)
	end
end

-- What the refused learn: whose it is, for how long yet (-1: for ever, -2:
-- free), and the server's time in us.
local function refusal()
	return {0, value and value:sub(1, 1024), redis.call('PTTL', lock), now_us}
end

-- Put before every script.  KEYS: the lock, its fence.  ARGV[1]: our id.
--
-- A lock's value is the id of its owner ("redlock-run/1 token=UUID try=N "),
-- then the server's time at the taking, then who that is.  The id alone is
-- compared.  A key of another type is a value that is nobody's id.
local id = ARGV[1]
local value = redis.pcall('GET', KEYS[1])
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
	local n = tonumber(redis.pcall('GET', KEYS[2]))
	return n and n >= 0 and n < 9e15 and n or 0
end

-- Never down, and kept for 30 days after its last use.
local function fence_raise(from, to)
	if to > from then
		redis.call('SET', KEYS[2], string.format('%.0f', to), 'PX', 2592000000)
	end
end

-- What the refused learn: whose it is, for how long yet (-1: for ever, -2:
-- free), and the server's time in ms.
local function refusal()
	return {0, value and value:sub(1, 1024), redis.call('PTTL', KEYS[1]), math.floor(now_us / 1000)}
end

-- acquire: id, rest of the value, TTL in ms, fence proposal in us.
-- Answers 1 and the fence, or a refusal.  Repeating it is harmless.
local last = fence()
if ours then
	redis.call('PEXPIRE', KEYS[1], ARGV[3])
elseif not value then
	redis.call('SET', KEYS[1], string.format('%ssince=%.0f %s', id, math.floor(now_us / 1000), ARGV[2]), 'NX', 'PX', ARGV[3])
else
	return refusal()
end
local new = math.max(last + 1, math.min(tonumber(ARGV[4]), now_us + 6e7))
fence_raise(last, new)
return {1, new}

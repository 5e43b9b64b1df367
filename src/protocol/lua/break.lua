-- break: 1 if this is the only server.  Id and token are those of the holder
-- that loses the lock, whatever its attempt; looks at all slots.  Answers 1, or
-- a refusal.
local function has_it(its)
	its = (its or ''):gsub('^rest ', '')
	return its:sub(1, #id) == id
end
local broken = false
for n, its in ipairs(values) do
	if has_it(its) then
		slot, lock, value, broken = n, slot_key(n), false, true
		redis.call('DEL', lock)
		break
	end
end
if value == SHARED and has_it(alive(redis.call('HGET', readers, token))) then
	broken = true
	redis.call('HDEL', readers, token)
	share_until_last()
end
if not broken then
	return refusal()
end
-- A waiter that was handed the lock is in the queue yet, and first.
leave(token)
pass_on(ARGV[5] == '1')
return {1}

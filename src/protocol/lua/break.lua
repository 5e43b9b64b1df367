-- break: 1 if this is the only server.  Id and token are those of the holder
-- that loses the lock, whatever its attempt; looks at all slots.  Replies with
-- a grant up to GRANTED, or a refusal.
local only, broken = ARGV[6] == '1', false
local function has_it(its)
	its = (its or ''):gsub('^cooldown ', '')
	return its:sub(1, #id) == id
end
for n, its in ipairs(values) do
	if has_it(its) then
		choose(n)
		free_slot()
		broken = true
		break
	end
end
if value == SHARED and has_it(alive(call('HGET', readers, token))) then
	broken = true
	call('HDEL', readers, token)
	share_until_last()
end
if not broken then
	return refusal()
end
-- A waiter that was handed the lock is in the queue yet, and first.
leave(token)
pass_on(only)
forget_slots()
return {1}

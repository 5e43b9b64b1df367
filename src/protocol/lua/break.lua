-- break: 1 if this is the only server, and by whom, "by=USER@HOST".  Id and token are those of the holder
-- that loses the lock, whatever its attempt; looks at all slots.  Replies with
-- a grant up to GRANTED, or a refusal.
local only, broken = ARGV[6] == '1', false -- the value of the victim
local function has_it(its)
	its = (its or ''):gsub('^cooldown ', '')
	return its:sub(1, #id) == id
end
for n, its in ipairs(values) do
	if has_it(its) then
		pick_slot(n)
		free_slot()
		broken = its
		break
	end
end
local its = value == SHARED and alive(call('HGET', readers, token))
if its and has_it(its) then
	broken = its
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
record('broken', broken:gsub('^cooldown ', ''):gsub(MARK .. '$', ''), ' ' .. ARGV[7])
return {1}

-- break: 1 if this is the only server, and "by=USER@HOST" of the user.  The
-- token is that of the holder to remove, of any version and in any attempt;
-- searches all slots.
-- Replies with a grant up to GRANTED, or a refusal.
local only, broken = ARGV[6] == '1', false -- the value of the victim
local function has_it(its)
	return its and token_of((without_state(its))) == token
end
survey()
for n, its in ipairs(values) do
	if has_it(its) then
		pick_slot(n)
		free_slot(n)
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
-- A waiter with an unconfirmed grant is still first in the queue.
leave(token)
pass_on(only)
forget_slots()
record('broken', without_state(broken):gsub(MARK .. '$', ''), ' ' .. ARGV[7])
return {1}

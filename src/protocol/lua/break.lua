-- break.  The token is that of the holder to remove, of any version and in any
-- attempt; searches all slots.  Replies with a grant up to GRANTED, or a refusal.
-- ARGV:
--	only	1 if this is the only server
--	by	"by=USER@HOST" of the user
local function has_it(its)
	return its and token_of((without_state(its))) == token
end

-- Frees the slot of that holder.  Returns its value, or nil.
local function break_slot()
	survey()
	for n, its in ipairs(values) do
		if has_it(its) then
			pick_slot(n)
			free_slot(n)
			return its
		end
	end
end

-- The same for a reader.
local function break_share()
	local its = value == SHARED and alive(call('HGET', readers, token))
	if its and has_it(its) then
		call('HDEL', readers, token)
		share_until_last()
		return its
	end
end

local broken = break_slot() or break_share()
if not broken then
	return refusal()
end
-- A waiter with an unconfirmed grant is still first in the queue.
leave(token)
pass_on(ARG.only == '1')
forget_slots()
record('broken', without_state(broken):gsub(MARK .. '$', ''), ' ' .. ARG.by)
return {1}

-- release.  Arguments: the cooldown in ms, or 0; 1 to leave the queue; 1 if this
-- is the only server; for the history, as record.h has them: how long the run waited,
-- its end or "", how long it ran in ms if it succeeded or "", 1 if its start is not
-- recorded yet, the reason why it was skipped or "", and then the holder's value;
-- the rest of the value; our fence; and our proposal for the next fence in us.
-- Replies with a grant up to GRANTED, or a refusal.
-- It may be sent twice, on two connections, and executed in any order: the second
-- one finds the end in the history, records nothing, and replies like the first.
-- In cooldown the value no longer begins with our id, so that a late renewal
-- cannot prolong it.
local cooldown, leaving, only = tonumber(ARGV[6]), ARGV[7] == '1', ARGV[8] == '1'
local waited, ending, success, starts = ARGV[9], ARGV[10], ARGV[11], ARGV[12] == '1'
local skip, holder, details = ARGV[13], ARGV[14], ARGV[15]
local our_fence, proposal = tonumber(ARGV[16]), tonumber(ARGV[17])
local ended = ending ~= ''
if ours and only and not leaving then
	-- A waiter that gives back an attempt keeps its turn and asks again.
	local ms = call('PTTL', lock)
	local grant_ms = within_lease(mine, GRANT_MS)
	ms = ms < 0 and grant_ms or math.min(ms, grant_ms)
	if shared then
		call('HSET', readers, token, lasting(ms, mine))
	else
		call('PEXPIRE', lock, ms)
		keep_slots(mine, ms)
	end
elseif ours and cooldown > 0 then
	call('PEXPIRE', lock, cooldown)
	keep_slots(mine, cooldown)
	if shared then
		call('HSET', readers, token, lasting(cooldown, 'cooldown ' .. mine))
	else
		call('SET', lock, 'cooldown ' .. mine, 'XX', 'KEEPTTL')
	end
elseif ours and shared then
	call('HDEL', readers, token)
elseif ours then
	free_slot(slot)
end
if ours and shared then
	share_until_last()
end
-- The acquire of an attempt that was given up may have recorded a start.  That is
-- rare; to send each start behind its grant would cost every run a third request.
local function forget_start()
	local runs = KEYS[2] .. 'runs'
	for _, entry in ipairs(redis.pcall('XREVRANGE', runs, '+', '-', 'COUNT', 20)) do
		local fields = entry[2]
		if fields[1] == 'start' and fields[2]:sub(1, #id) == id then
			redis.pcall('XDEL', runs, entry[1])
		end
	end
end
local function go()
	if leaving and leave(token) or ours then
		pass_on(ours and leaving and only, our_fence, proposal)
	end
	forget_slots()
end
if ours then
	pcall(go) -- errors here must not undo the release
else
	go()
end
-- Returns the end of our run in the history: "end", or "lost" if the lock was no
-- longer ours then.
local function known_end()
	for _, entry in ipairs(redis.pcall('XREVRANGE', KEYS[2] .. 'runs', '+', '-', 'COUNT', 200)) do
		local what, its = unpack(entry[2])
		if (what == 'end' or what == 'lost') and its:sub(1, #id) == id then
			return what
		end
	end
end
local known = ended and not ours and known_end()
if ours and ended and (unconfirmed or starts) then
	record('start', mine, waited)
end
if ours and ended then
	record('end', mine, waited .. ending)
	record_success(mine, success)
elseif ended then
	if not known then
		record('lost', value_of(id .. '0 ', details), waited .. ending)
	end
elseif ours and only then
	forget_start()
end
if skip ~= '' then
	record_skip(id .. '0 ', details, waited .. skip, holder)
end
return (ours or known == 'end') and {1} or loss()

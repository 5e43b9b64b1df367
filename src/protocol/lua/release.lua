-- release.  Replies with a grant up to GRANTED, or a refusal.
-- It may be sent twice, on two connections, and executed in any order: the second
-- one finds the end in the history, records nothing, and replies like the first.
-- ARGV:
--	cooldown	in ms; 0: none
--	leaving		1 to leave the queue
--	only		1 if this is the only server
--	waited		for the history, as record.h has it: how long the run waited
--	ending		its end, or ""
--	success		how much of the details a success records; 0: it is none
--	starts		1 if its start is not recorded yet
--	skip		the reason why it was skipped, or ""
--	holder		and then the holder's value
--	details		the rest of the value
--	fence		ours
--	proposal	ours for the next fence, in us
--	held		the attempt that the run held, if it has ended
local cooldown, leaving, only = tonumber(ARG.cooldown), ARG.leaving == '1', ARG.only == '1'
local waited, ending = ARG.waited, ARG.ending
local ended = ending ~= ''
-- Whether the run has ended without the lock that it held.  A late request of an
-- older attempt may have taken it since; that is undone.
local lost = ended and not (ours and try_of(mine) == tonumber(ARG.held))

-- A waiter that gives back an attempt keeps its turn and asks again.
local function shorten()
	local ms = call('PTTL', lock)
	local grant_ms = within_lease(mine, GRANT_MS)
	ms = ms < 0 and grant_ms or math.min(ms, grant_ms)
	if shared then
		call('HSET', readers, token, lasting(ms, mine))
	else
		call('PEXPIRE', lock, ms)
		keep_slots(mine, ms)
	end
end

-- In cooldown the value no longer begins with our id, so that a late renewal
-- cannot prolong it.
local function cool_down()
	call('PEXPIRE', lock, cooldown)
	keep_slots(mine, cooldown)
	if shared then
		call('HSET', readers, token, lasting(cooldown, 'cooldown ' .. mine))
	else
		call('SET', lock, 'cooldown ' .. mine, 'XX', 'KEEPTTL')
	end
end

local function give_back()
	if only and not leaving and not ended then
		shorten()
	elseif cooldown > 0 and not lost then
		cool_down()
	elseif shared then
		call('HDEL', readers, token)
	else
		free_slot(slot)
	end
	if shared then
		share_until_last()
	end
end

-- The acquire of an attempt that was given up may have recorded a start, whether or
-- not its lease has ended since.  That is rare; to send each start behind its grant
-- would cost every run a third request.
local function forget_start(its_id)
	local runs = KEYS[2] .. 'runs'
	for _, entry in ipairs(redis.pcall('XREVRANGE', runs, '+', '-', 'COUNT', 20)) do
		local fields = entry[2]
		if fields[1] == 'start' and fields[2]:sub(1, #its_id) == its_id then
			redis.pcall('XDEL', runs, entry[1])
		end
	end
end

local function serve_others()
	if leaving and leave(token) or ours then
		pass_on(ours and leaving and only, tonumber(ARG.fence), tonumber(ARG.proposal))
	end
	forget_slots()
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

if ours then
	give_back()
	pcall(serve_others) -- errors here must not undo the release
else
	serve_others()
end
local known = lost and known_end()
if ended and not lost then
	if unconfirmed or ARG.starts == '1' then
		record('start', mine, waited)
	end
	record_end(mine, waited, ending, ARG.details:sub(1, ARG.success))
elseif only and (ours or not ended) then
	forget_start(ended and id .. try_of(mine) .. ' ' or id)
end
if lost and not known then
	record('lost', value_of(id .. '0 ', ARG.details), waited .. ending)
end
if ARG.skip ~= '' then
	record_skip(id .. '0 ', ARG.details, waited .. ARG.skip, ARG.holder)
end
return (ours and not lost or known == 'end') and {1} or loss()

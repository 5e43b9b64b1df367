-- The state of the lock: its readers, and the reply of a refusal.

-- Returns the value of the living reader with the latest deadline, how many
-- readers live, how many of them are in the queue, and that deadline.  Removes
-- some of the dead, except for a query.
local DROPS = 200
local function sharing()
	local last, n, queued, last_us, drops = nil, 0, 0, 0, id == '' and 0 or DROPS
	local all = value == SHARED and call('HGETALL', readers) or {}
	for i = 1, #all, 2 do
		local its, until_us = alive(all[i + 1])
		if not its and drops > 0 then
			call('HDEL', readers, all[i])
			drops = drops - 1
		elseif its then
			n = n + 1
			queued = queued + (call('ZSCORE', queue, all[i]) and 1 or 0)
			if until_us > last_us then
				last, last_us = its, until_us
			end
		end
	end
	return last, n, queued, last_us
end

-- After a reader has left: keeps the lock until the last reader's deadline.
local function share_until_last()
	local _, n, _, last_us = sharing()
	if n == 0 then
		call('DEL', lock, readers)
		value = false
	else
		local ms = math.ceil((last_us - now_us()) / 1e3)
		call('PEXPIRE', lock, ms)
		call('PEXPIRE', readers, ms)
	end
end

-- Returns "by=USER@HOST" of the --break of our lock, from the history, or
-- false.
local function breaker()
	local runs = redis.pcall('XREVRANGE', KEYS[2] .. 'runs', '+', '-', 'COUNT', 100)
	for _, entry in ipairs(runs) do
		local fields = entry[2]
		if fields[1] == 'broken' and token_of(fields[2]) == token then
			return fields[2]:match(' (by=%S+)') or false
		end
	end
	return false
end

-- Returns the reply of a refusal, up to BEST_PTTL; its VALUE is the last
-- reader's.
local function refusal()
	watch()
	local last, n = sharing()
	local its, best, best_ms = last or value, best_slot()
	local ms = best == slot and best_ms or call('PTTL', lock)
	return {
		[REPLY.GRANTED] = 0, [REPLY.FENCE] = 0, [REPLY.AHEAD] = 0,
		[REPLY.SLOT] = slot, [REPLY.NOW] = now_us(),
		[REPLY.VALUE] = its and its:sub(1, 1024), [REPLY.PTTL] = ms,
		[REPLY.READERS] = n, [REPLY.BEST] = best, [REPLY.BEST_PTTL] = best_ms,
	}
end

-- Returns a refusal for another reason than the holder; VALUE becomes `its`.
local function refused_for(reason, its, shares)
	local reply = refusal()
	reply[REPLY.VALUE], reply[REPLY.READERS] = its and its:sub(1, 1024), shares and math.max(reply[REPLY.READERS], 1) or 0
	reply[REPLY.QUEUED], reply[REPLY.WAITING], reply[REPLY.TICKET], reply[REPLY.PLACE] = 0, 0, 0, 0
	reply[REPLY.REASON] = reason
	return reply
end

-- Returns the refusal for a run that has lost its lock, up to BROKEN.
local function loss()
	local reply = refusal()
	reply[REPLY.QUEUED], reply[REPLY.WAITING], reply[REPLY.TICKET], reply[REPLY.PLACE] = 0, 0, 0, 0
	reply[REPLY.REASON], reply[REPLY.LAST_RAN], reply[REPLY.BROKEN] = REASON.BUSY, 0, breaker()
	return reply
end

-- Records that a run did not get the lock, with the reason and the holder's
-- value.  These have a stream of their own, so that they push no run out.
local function record_skip(its_id, details, why, holder)
	append('skips', '100', 'skip', value_of(its_id, details) .. why, 'holder', holder or '')
end

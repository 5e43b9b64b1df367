-- Reads the history, for history and metrics.  In status the two lists and the last
-- success stay nil, and its reply ends before them.
local entries, skipped, success

-- Returns the last entries of that stream, newest first, or the error; a key of
-- another type has none.
local function newest(stream, count)
	local found = redis.pcall('XREVRANGE', KEYS[2] .. stream, '+', '-', 'COUNT', count)
	return found.err and found.err:find('WRONGTYPE', 1, true) and {} or found
end

-- Returns the runs of such entries, each as its id, its word and its text.
local function runs_in(found)
	local list = {}
	for _, entry in ipairs(found) do
		local n, fields = #list, entry[2]
		list[n + 1], list[n + 2], list[n + 3] = entry[1], fields[1]:sub(1, 8), fields[2]:sub(1, 1600)
	end
	return list
end

-- Returns the value of the last success, or false.
local function kept_success()
	local its = redis.pcall('GET', KEYS[2] .. 'success')
	return type(its) == 'string' and its:sub(1, 1024)
end

-- Returns the skips, each as its id, the text of the run and the value of the
-- holder.
local function skips_in(found)
	local list = {}
	for _, entry in ipairs(found) do
		local n, fields = #list, entry[2]
		list[n + 1], list[n + 2] = entry[1], fields[2]:sub(1, 1600)
		list[n + 3] = (fields[4] or ''):sub(1, 1024)
	end
	return list
end

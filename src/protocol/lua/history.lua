-- history: empty id and token; reads all slots.  Replies with the server's time
-- in us, the last entries, newest first, each as its id, its word and its text,
-- and the tokens of the present holders.
local runs, entries, holders = redis.pcall('XREVRANGE', KEYS[2] .. 'runs', '+', '-', 'COUNT', 200), {}, {}
if runs.err and not runs.err:find('WRONGTYPE', 1, true) then
	return runs
end
for _, entry in ipairs(runs) do
	local n, fields = #entries, entry[2]
	entries[n + 1], entries[n + 2], entries[n + 3] = entry[1], fields[1]:sub(1, 8), fields[2]:sub(1, 1600)
end
local function holder(its)
	local owner = token_of(its)
	if owner and #holders < 1000 then
		holders[#holders + 1] = owner:sub(1, 64)
	end
end
for _, its in ipairs(values) do
	holder(its)
end
if value == SHARED then
	for i, entry in ipairs(call('HGETALL', readers)) do
		holder(i % 2 == 0 and alive(entry))
	end
end
return {now_us(), entries, holders}

-- renew: TTL in ms, our fence, 1 to leave the queue, and how the run started, if
-- that is to be written down.  Answers 1 and the fence as it stands then, or a
-- refusal.
-- It never creates the key: a renewal that was delayed on an abandoned
-- connection would put a released lock back for a whole TTL.
if not ours then
	return refusal()
end
prolong(tonumber(ARGV[5]))
if ARGV[7] == '1' then
	leave(token)
	pass_on(false)
end
if ARGV[8] ~= '' then
	record('start', mine, ARGV[8])
end
return {1, fence_raise(fence(), tonumber(ARGV[6]))}

-- status: an empty id and token.  Answers as a refusal does, and the fence.
local answer = refusal()
answer[5] = fence()
return answer

# shellcheck shell=bash disable=SC2034,SC2154
#
# What the files about fences share.  A database of each file has the table
# redlock_fence, from the file that `make install` brings, and the table work, in
# which each write leaves its fence, in the order in which the writes came.
#
# Its file defines sql(), which runs the SQL on standard input.

load ../lib/readme

# fence_count CONDITION: of so many writes in the table work it is true.
fence_count() {
	sql <<<"SELECT count(*) FROM work WHERE $1;"
}

# fence_ordered: no write came after that of a greater fence.
fence_ordered() {
	sql <<<'SELECT fence FROM work ORDER BY n;' | sort -nc
}

# fence_race COMMAND...: five runs of COMMAND write 100 times each, all at the same
# time, with the fences 1 to 5.  Those of the last one are all accepted.
fence_race() {
	local fence pids=()
	for fence in 1 2 3 4 5; do
		"$@" "$fence" 3>&- 4>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[[ $(fence_count 'fence = 5') == 100 ]]
	fence_ordered
}

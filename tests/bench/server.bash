# shellcheck shell=bash
#
# What every measurement needs: a Redis of its own on a free port of the
# loopback interface, gone when the script ends.

set -euo pipefail

for name in "${!REDLOCK_@}" REDISCLI_AUTH; do
	[[ $name == REDLOCK_RUN ]] || unset "$name"
done
export REDLOCK_CONFIG=/dev/null
run=$(realpath "${REDLOCK_RUN:-$(dirname "$0")/../../redlock-run}")
dir=$(mktemp -d "${TMPDIR:-/tmp}/redlock-bench.XXXXXX")
server='' holder=''

finish() {
	local pid
	set +e
	for pid in $holder $server; do
		kill "$pid" && wait "$pid"
	done 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for _ in {1..50}; do
	port=$((20000 + RANDOM % 12000))
	redis-server --bind 127.0.0.1 --port $port --save '' --appendonly no \
	    --dir "$dir" --pidfile "$dir/pid" --logfile "$dir/log" &
	server=$!
	until redis-cli -p $port info server 2>/dev/null |
		grep -q "^process_id:$server"; do
		if ! kill -0 $server 2>/dev/null; then
			server=''
			break
		fi
		sleep 0.05
	done
	[[ -z $server ]] || break
done
[[ -n $server ]] || exit 1
export REDLOCK_REDIS=redis://127.0.0.1:$port

redis() {
	redis-cli -p "$port" "$@"
}

# hold TTL: takes a lock, in the background, until the script ends.  The process
# is in $holder.
hold() {
	"$run" -k held -t "$1" -- sleep 1000 &
	holder=$!
	until [[ $(redis exists redlock:held) == 1 ]]; do
		kill -0 "$holder"
		sleep 0.05
	done
}

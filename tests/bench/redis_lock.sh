#!/bin/sh
#
# redis_lock.sh PORT COMMAND...: runs COMMAND under a lock as one writes it with
# redis-cli.

redis() {
	redis-cli -p "$port" "$@"
}

port=$1
shift
until [ "$(redis set redis-cli $$ nx px 30000)" = OK ]; do
	sleep 0.1
done
"$@"
status=$?
redis eval "if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1]) end" 1 redis-cli $$ >/dev/null
exit $status

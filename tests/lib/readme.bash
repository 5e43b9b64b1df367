# shellcheck shell=bash disable=SC2016,SC2034,SC2154
#
# What runs the examples of README and manuals: their blocks as they stand
# there, never a copy, on a host as they expect it.  That has the package, of
# which the program under test may take the place: REDLOCK_DEB names a package
# to unpack.  Programs of the site are in /usr/local/bin, and redis.example.com
# is a Redis, on the usual port; it is a mount and a network namespace of a
# redis-server of ours, so nothing of the real host is touched.

# readme_blocks: README and the manuals with all blocks fenced as in README.
readme_blocks() {
	cat "$top/README.md"
	sed -e 's/^\.Bd -literal.*/```/; s/^\.Ed/```/' -e 's/\\(aq/'"'"'/g' \
	    -e 's/\\(ti/~/g' -e 's/\\e/\\/g' -e 's/\\-/-/g' -e 's/\\&//g' \
	    "$top"/man/redlock-run.[17] "$top"/man/redlock-run.conf.5
}

# readme_block WORD: the first block with that word in it.
readme_block() {
	readme_blocks | awk -v word="$1" '
	/^```/ {
		if (inside && !found && index(text, word)) {
			printf "%s", text
			found = 1
		}
		inside = !inside; text = ""; next
	}
	inside { text = text $0 "\n" }'
}

# readme_host_start: for setup_file; without namespaces there is none.
readme_host_start() {
	local dir=$BATS_FILE_TMPDIR
	local user=()
	((EUID == 0)) || user=(--map-root-user)
	unshare "${user[@]}" -m -n ip link set lo up || return 0
	mkdir -p "$dir/programs" "$dir/bin" "$dir/tree/usr/bin"
	if [[ -n ${REDLOCK_DEB:-} ]]; then
		dpkg-deb -x "$REDLOCK_DEB" "$dir/tree"
		export REDLOCK_RUN=$dir/tree/usr/bin/redlock-run
	else
		ln -s "$REDLOCK_RUN" "$dir/tree/usr/bin/redlock-run"
	fi
	echo 127.0.0.1 localhost redis.example.com >"$dir/hosts"
	cat >"$dir/programs/redis-server" <<-END
		#!/bin/sh
		exec unshare ${user[*]} -m -n sh -c '
			mount --make-rprivate / &&
			mount -t overlay overlay \
			    -o lowerdir=$dir/tree/usr/bin:/usr/bin /usr/bin &&
			mount --bind $dir/bin /usr/local/bin &&
			mount --bind $dir/hosts /etc/hosts &&
			ip link set lo up && exec "\$@"
		' sh $(type -P redis-server) "\$@"
	END
	chmod +x "$dir/programs/redis-server"
	export PATH=$dir/programs:$PATH
	redis_start --bind 127.0.0.1 --port 6379
}

# readme_host_reset: for setup.  "${host[@]}" COMMAND... runs it there, in the
# same directory and with a plain environment; in the background $! is its pid.
readme_host_reset() {
	local user=()
	needs ip iproute2
	[[ -e $BATS_FILE_TMPDIR/hosts ]] || skip "needs network namespaces"
	redis_reset
	unset REDLOCK_REDIS
	cd "$BATS_TEST_TMPDIR" || return
	rm -f "$BATS_FILE_TMPDIR"/bin/*
	((EUID == 0)) || user=(--user --preserve-credentials)
	host=(nsenter -t "$(redis_pid)" "${user[@]}" -m -n env -i
	    --default-signal HOME="$PWD" TEST_MARK="$TEST_MARK"
	    REDLOCK_CONFIG=/dev/null
	    REDLOCK_TESTS="${REDLOCK_TESTS:-}" ASAN_OPTIONS="${ASAN_OPTIONS:-}"
	    UBSAN_OPTIONS="${UBSAN_OPTIONS:-}"
	    PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	    sh -c 'cd "$1" && shift && exec "$@" 3>&- 4>&-' sh "$PWD")
}

# readme_program NAME: the host has one more, its text is on standard input.
readme_program() {
	rm -f "$BATS_FILE_TMPDIR/bin/$1"
	cat >"$BATS_FILE_TMPDIR/bin/$1"
	chmod +x "$BATS_FILE_TMPDIR/bin/$1"
}

# readme_redis_server: redis-server works in $PWD, and should the test fail,
# redis_stop_all() ends those that have such a file.
readme_redis_server() {
	readme_program redis-server <<-END
		#!/bin/sh
		exec $(PATH=${PATH#*:} type -P redis-server) "\$@" --dir $PWD \
		    --pidfile $BATS_FILE_TMPDIR/readme-\$\$.server
	END
}

# readme_stand_in NAME [DIRECTORY]: a script that writes down in ./log that it
# runs, and ends when ./enough is there.  Without a directory it is the host's.
readme_stand_in() {
	local file=${2:-$BATS_FILE_TMPDIR/bin}/$1
	cat >"$file" <<-END
		#!/bin/sh
		echo "${1%.sh}\${*:+ \$*}" >>$PWD/log
		until [ -e $PWD/enough ]; do sleep 0.02; done
	END
	chmod +x "$file"
}

# readme_logged N: so many have begun.
readme_logged() {
	[[ $(wc -l <log) == "$1" ]]
}

# readme_queued NAME N: so many wait for that lock.
readme_queued() {
	[[ $(redis zcard "{redlock:$1}:~queue") == "$2" ]]
}

# readme_slot_taken NAME N: that slot, from the second on, is somebody's.
readme_slot_taken() {
	[[ $(redis exists "{redlock:$1}:~$2") == 1 ]]
}

# readme_all_well PID...: these end, each with status 0.
readme_all_well() {
	local pid
	for pid; do
		eventually gone "$pid"
		wait "$pid"
	done
}

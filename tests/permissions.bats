#!/usr/bin/env bats
#
# The least that a user of the server may do, and what becomes of passwords.
# All other tests run under the rule that is looked at here; see lib.bash.

# shellcheck disable=SC2016,SC2154

load lib

setup_file() {
	redis_start_tcp redis
	export tcp=127.0.0.1:$redis_port
	redis_start other
}

setup() {
	redis_reset
	redis acl log reset
	cd "$BATS_TEST_TMPDIR" || exit
	top=$(realpath "$BATS_TEST_DIRNAME/..")
	man=$top/man/redlock-run.1
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# block WORD: the fenced block of the README that has a word in it.
block() {
	awk -v word="$1" '
	/^```/ {
		if (inside && index(text, word)) { printf "%s", text; exit }
		inside = !inside; text = ""; next
	}
	inside { text = text $0 "\n" }' "$top/README.md"
}

## The rule

@test "README and the man page have the same rule" {
	block 'ACL SETUSER' >rule
	[[ $(wc -l <rule) -eq 6 ]]
	diff rule <(sed -n '/^printf .*redlock.password/,/^\.Ed/{
		/^\.Ed/d
		s/\\(aq/'\''/g
		s/\\(ti/~/g
		s/\\e$/\\/
		p
	}' "$man")
	[[ $(grep -o "[~+][^' ]*" rule | xargs) == "${permitted[*]}" ]]
}

@test "README's commands make a user, and that user can hold a lock" {
	umask 077
	echo "it's s3cret" >redlock.password
	mkdir bin
	echo "exec $(type -P redis-cli) ${ADMIN_CLI#* } -s \
	    $BATS_FILE_TMPDIR/redis.sock \"\$@\"" >bin/redis-cli
	chmod +x bin/redis-cli
	block 'ACL SETUSER' >rule
	PATH=$PWD/bin:$PATH run -0 --separate-stderr sh rule
	[[ $output == OK ]]
	redis acl setuser default off
	block redis://redlock@ | sed "s/redis.example.com/$tcp/" >job
	grep -q "@$tcp " job
	ln -s "$REDLOCK_RUN" bin/redlock-run
	echo 'touch done' >backup.sh
	chmod +x backup.sh
	PATH=$PWD/bin:$PATH run -0 --separate-stderr sh job 3>&-
	silent
	[ -e done ]
	redis acl deluser redlock
}

@test "whom a permission is refused is told the whole rule, for the prefix in use" {
	local prefix

	redis acl setuser default -@all
	for prefix in redlock: jobs/ ''; do
		run -77 --separate-stderr redlock --prefix "$prefix" -k a -- true
		[[ $stderr == *"; the user needs $(permissions "$prefix")" ]]
	done
	# It is what one can paste, and enough.
	for prefix in redlock: jobs/ '' '[a-z]*?:'; do
		redis acl setuser default reset on nopass
		run -77 --separate-stderr redlock --prefix "$prefix" -k a -- true
		echo "acl setuser default ${stderr#*user needs }" | redis
		redlock --prefix "$prefix" -k a -- true
	done
}

@test "the rule has every command that is sent, and no other" {
	{
		grep -ohE "(call|attempt)\('[A-Z]+'" "$top"/src/lua/*.lua
		grep -ohE '(argv|info|select)\[2?\] = \{ "[A-Z]+"' \
		    "$top"/src/*.c
		echo EVAL
	} | grep -oE '[A-Z]+' | tr '[:upper:]' '[:lower:]' | sort -u >sent
	diff sent <(printf '%s\n' "${permitted[@]}" | sed -n 's/^+//p' | sort)
}

# does ARG...: its status goes to $statuses, its words to the file "said".
does() {
	local got=0
	redlock "$@" >>said 2>&1 || got=$?
	statuses+=("$got")
}

# everything: all that there is to send, in a short time.
everything() {
	statuses=()
	redis flushall
	redis acl log reset
	rm -f said
	does -k a -t 1s --restart-grace 1s -- true
	does -k a -s -- true
	does -k a --slots 2 -r "$REDLOCK_REDIS?db=1" -- true
	# Behind somebody who waits, and then behind somebody who holds it.
	redis zadd '{redlock:a}:~queue' 1 rival
	redis hset '{redlock:a}:~beat' rival \
	    '9000000000000000 1 redlock-run/1 token=rival try=1 x'
	does -k a -- true
	redis set redlock:a 'redlock-run/1 token=rival try=1 since=1 x'
	does -k a -w 20ms -- true
	does --status -k a
	does --status
	does --history
}

# denied: the commands that the server has denied since.
denied() {
	redis acl log 100 | sed -n '/^object$/{n;p;}' | sort -u
}

@test "under the rule nothing is denied, and without any of its commands something is" {
	local word

	# The server has to be older than the restart grace.
	eventually redlock -k a -t 1s --restart-grace 1s -- true
	everything
	cat said
	[ "${statuses[*]}" = '0 0 0 75 75 0 0 0' ]
	[ -z "$(denied)" ]
	for word in "${permitted[@]}"; do
		[[ $word == +* ]] || continue
		redis acl setuser default "-${word#+}"
		everything
		redis acl setuser default "$word"
		echo "without $word: ${statuses[*]}"
		cat said
		[ "$(denied)" = "${word#+}" ]
		# A history that cannot be written is no reason to stop.
		[ "$word" = +xadd ] ||
			grep -qE 'NOPERM|The user executing the script' said
	done
}

@test "a run that is refused for want of a permission leaves nothing behind" {
	local how refused=0 word

	for word in "${permitted[@]}"; do
		[[ $word == +* && $word != +del ]] || continue
		redis acl setuser default "-${word#+}"
		for how in '' -s '--slots 2'; do
			# shellcheck disable=SC2086
			run redlock -k a $how -- true
			if [ "$status" -eq 77 ]; then
				echo "without $word: $how"
				redis keys '*' | grep -v '~fence$' | not grep .
				refused=$((refused + 1))
			fi
			redis flushall
		done
		redis acl setuser default "$word"
	done
	((refused > 12))
}

@test "a key pattern that is missing is named" {
	redis acl setuser default resetkeys '~redlock:*'
	run -77 --separate-stderr redlock -k a -- touch started
	says '~{redlock:*'
	redis acl setuser default resetkeys '~{redlock:*'
	run -77 --separate-stderr redlock -k a -- touch started
	says ' ~redlock:*'
	[ ! -e started ]
	[[ -z $(redis keys '*') ]]
}

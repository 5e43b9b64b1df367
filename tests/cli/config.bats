#!/usr/bin/env bats
# The configuration file: its settings, their precedence, its mistakes.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/host
load ../lib/readme

setup_file() {
	redis_start
	redis_start other
}

setup() {
	redis_reset
	redis_reset other
	unset REDLOCK_REDIS
	here=unix://$BATS_FILE_TMPDIR/redis.sock
	there=unix://$BATS_FILE_TMPDIR/other.sock
	cd "$BATS_TEST_TMPDIR" || exit
	export REDLOCK_CONFIG=$PWD/conf
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# conf LINE...: the file that REDLOCK_CONFIG names.
conf() {
	printf '%s\n' "$@" >conf
	chmod 600 conf
}

# conf_wrong TEXT [ARG...]: with the file as it is, and ARGs, it is a usage
# error with TEXT in its message, and no password.
conf_wrong() {
	local text=$1
	shift
	run -64 --separate-stderr redlock -k a "$@" -- true
	says "$text"
	[[ -z $output && $stderr != *s3cret* ]]
}

# conf_lease ARG...: the TTL, rounded up to minutes.
conf_lease() {
	local ms
	ms=$(redlock -k a "$@" -- sh -c "$(cli pttl redlock:a)")
	echo $(((ms + 59999) / 60000))
}

@test "every setting in the configuration file has its effect" {
	local may
	may_use app:
	read -ra may < <(permissions app:)
	redis_at other acl setuser default resetkeys "${may[@]}"
	conf "# a comment" "" "redis $here" "  redis	$there  " "prefix app:" \
	    "ttl 7m" "restart-grace 0" "kill-after 100ms" "node-timeout 2s" \
	    "log stderr"
	redlock -k a -- sh -c "$(cli exists app:a); $(cli pttl app:a)" >got
	[[ $(sed -n 1p got) == 1 ]]
	(($(sed -n 2p got) > 360000 && $(sed -n 2p got) <= 420000))
	redlock -k a -- redis-cli -s "$BATS_FILE_TMPDIR/other.sock" exists app:a |
		grep -qx 1
	redis_freeze other
	run -69 --separate-stderr redlock -k a -- true
	says other.sock 'connected, but no reply within 2s'
	redis_thaw other
	run -124 redlock -k a --max-run 100ms -- \
	    sh -c 'trap "" TERM; while :; do sleep 0.05; done'
}

@test "prefix without a value in the file is the empty prefix" {
	may_use ""
	conf "redis $here" prefix
	redlock -k a -- sh -c "$(cli exists a)" | grep -qx 1
}

@test "the command line takes precedence over the environment, and that over the file" {
	conf "redis $here" "ttl 7m"
	[[ $(conf_lease) == 7 ]]
	export REDLOCK_TTL=8m
	[[ $(conf_lease) == 8 ]]
	[[ $(conf_lease --ttl 9m) == 9 ]]
	printf 'ttl 6m\n' >second
	unset REDLOCK_TTL
	[[ $(conf_lease --config second -r "$here") == 6 ]]
	[[ $(conf_lease --config /dev/null -r "$here") == 1 ]]
}

@test "servers of a higher level replace those of a lower one" {
	conf "redis $here"
	redis_freeze
	redlock -k a -r "$there" -- true
	REDLOCK_REDIS=$there redlock -k a -- true
	conf "redis $there"
	redlock -k a -- true
	REDLOCK_REDIS=$here redlock -k a -r "$there" -- true
	redis_thaw
}

@test "--status reads the configuration file, too" {
	conf "redis $here" "prefix app:"
	may_use app:
	redis set app:nightly somebody
	redlock --status | grep -q '^nightly '
}

@test "a mistake in the file is a usage error, also where another value replaces it" {
	local -a given=(-r "$here" -t 1m --kill-after 1s --restart-grace 0 -w 1s
	    --node-timeout 1s --prefix redlock: --log stderr --max-waiting 3)
	export REDLOCK_LATEST=no
	while IFS='|' read -r line text; do
		conf "$line"
		conf_wrong "$PWD/conf:1: ${line%% *}: $text" "${given[@]}"
	done <<-'END'
		ttl x|'x' is not a duration
		ttl 1ms|'1ms' is too short
		max-ttl x|'x' is not a duration
		kill-after x|'x' is not a duration
		node-timeout 0|'0' is too short
		restart-grace x|'x' is not a duration
		latest maybe|'maybe' is not 'yes' or 'no'
		max-waiting 1001|'1001' is not a number from 0 to 1000
		prefix a:~b|'a:~b' contains ':~'
		log file|'file' is not 'stderr' or 'syslog'
		redis nonsense/://|'nonsense/://'
	END
	conf "redis $here" "redis $here"
	conf_wrong "$PWD/conf:2: redis: '$here' is named twice" "${given[@]}"
	REDLOCK_REDIS=$there conf_wrong "$PWD/conf:2: redis: '$here' is named twice"
}

@test "a redis line of several words has its own error, also in a file that others may read" {
	local line
	for line in "redis redis://a redis://b" "redis redis://a:6379 # the first" \
	    "redis redis://u:s3cret@a redis://b" \
	    "redis redis://a,redis://b"; do
		conf "$line"
		chmod 644 conf
		conf_wrong "$PWD/conf:1: redis has more than one URL or word; write each in a line of its own, and a comment above it"
	done
}

@test "an invalid line of the file is quoted with its place" {
	conf "redis $here" "" "tll 5s"
	conf_wrong "$PWD/conf:3: unknown setting 'tll' (did you mean 'ttl'?)"
	conf "redis $here" "config /etc/x"
	conf_wrong "$PWD/conf:2: 'config' is an option, not a setting"
	conf "ttl"
	conf_wrong "$PWD/conf:1: ttl has no value"
	conf "ttl 5s" "redis $here" "ttl 5s"
	conf_wrong "$PWD/conf:3: ttl is set twice"
	conf "prefix ''"
	conf_wrong "$PWD/conf:1: the line has quotes"
	printf 'ttl 5s\nprefix a\0b\n' >conf
	conf_wrong "$PWD/conf:2: the line contains a NUL"
	printf 'ttl 5s\nprefix a\33[1mb\n' >conf
	conf_wrong "$PWD/conf:2: the line contains a control character"
	printf 'prefix %05000d\n' 1 >conf
	conf_wrong "$PWD/conf:1: the line is too long"
	printf '\357\273\277ttl 5s\n' >conf
	conf_wrong "$PWD/conf:1: the line begins with a byte order mark; save the file as UTF-8 without one (BOM)"
	# A line without a setting may be a password.
	for line in s3cret password=s3cret password:s3cret \
	    "redis://u:s3cret@h 6379" "redis=redis://:s3cret@h"; do
		conf "$line"
		conf_wrong "$PWD/conf:1: malformed line"
	done
}

@test "an invalid value in the file is reported with its place" {
	conf "redis $here" "ttl soon"
	conf_wrong "$PWD/conf:2: ttl: 'soon' is not a duration"
	conf "ttl 5ms"
	conf_wrong "$PWD/conf:1: ttl: '5ms' is too short"
	conf "redis $here" "redis redis://:s3cret@h:x"
	conf_wrong "$PWD/conf:2: redis: 'redis://:***' has a port that is not 1 to 65535"
	conf "redis $here" "redis $here"
	conf_wrong "$PWD/conf:2: redis: '$here' is named twice"
	conf "prefix a:~b"
	conf_wrong "$PWD/conf:1: prefix: 'a:~b' contains ':~'"
	conf "log journal"
	conf_wrong "$PWD/conf:1: log: 'journal' is not 'stderr'"
	conf "password-file $PWD/nowhere"
	conf_wrong "$PWD/conf:1: password-file: '$PWD/nowhere' cannot be read"
	conf "password-file x" "password s3cret"
	conf_wrong "$PWD/conf:2: password: password-file is set too"
	conf "password $(printf 's3cret%0600d' 1)"
	conf_wrong "$PWD/conf:1: password is longer than 511 bytes"
	conf "redis $here" 'redis redis://me@h'
	conf_wrong "$PWD/conf:2: redis: 'redis://***@h:6379' has a user but no password"
	conf "redis $here" 'redis h' 'ttl 2m' 'restart-grace 1m'
	conf_wrong "$PWD/conf:3: ttl: 2m exceeds the restart grace of 1m ($PWD/conf:4: restart-grace)"
	conf_wrong '--ttl: 3m exceeds the restart grace of 2m (--restart-grace)' \
	    -t 3m --restart-grace 2m
	conf "redis $here"
	REDLOCK_TTL=x conf_wrong "REDLOCK_TTL: 'x'"
	conf_wrong "--ttl: 'x'" -t x
}

@test "a line in another form is an error that gives the form to write" {
	conf 'wait 30s'
	conf_wrong "$PWD/conf:1: 'wait' is an option, not a setting"
	conf 'TTL 30s'
	conf_wrong "$PWD/conf:1: malformed line 'TTL 30s'; write: ttl 30s"
	conf 'ttl=30s'
	conf_wrong "$PWD/conf:1: malformed line 'ttl=30s'; write: ttl 30s"
	conf 'ttl = 30s'
	conf_wrong "$PWD/conf:1: malformed line 'ttl = 30s'; write: ttl 30s"
	conf 'TTL = 30s'
	conf_wrong "$PWD/conf:1: malformed line 'TTL = 30s'; write: ttl 30s"
	conf 'ttl ='
	conf_wrong "$PWD/conf:1: malformed line; write: ttl VALUE"
	conf 'ttl: 30s'
	conf_wrong "$PWD/conf:1: malformed line"
	conf 'password = s3cret'
	conf_wrong "$PWD/conf:1: malformed line; write: password VALUE"
	conf 'password=s3cret'
	conf_wrong "$PWD/conf:1: malformed line; write: password VALUE"
	conf 'Redis redis://:s3cret@h'
	conf_wrong "$PWD/conf:1: malformed line; write: redis VALUE"
}

@test "a configuration file that is named must exist and be readable" {
	conf_wrong "REDLOCK_CONFIG: '$PWD/conf' cannot be read: No such file"
	conf_wrong "--config: 'nowhere' cannot be read: No such file" \
	    --config nowhere
	REDLOCK_CONFIG='' conf_wrong "REDLOCK_CONFIG: '' cannot be read"
	conf_wrong "--config: '.' cannot be read: Is a directory" --config .
	ln -s loop loop
	conf_wrong "--config: 'loop' cannot be read" --config loop
	conf_wrong "'/dev/zero' is larger than 64 KB" --config /dev/zero
}

@test "the configuration file may be a pipe" {
	[[ $(conf_lease --config <(
		echo "redis $here"
		sleep 0.1
		printf 'ttl 5m'
	)) == 5 ]]
}

@test "the configuration file may have the password, by itself or in a URL" {
	redis acl setuser default resetpass '>s3cret one'
	conf "redis $here"
	run -77 --separate-stderr redlock -k a -- true
	says "; set it by REDISCLI_AUTH, --password-file or $PWD/conf"
	conf "redis $here" "password s3cret one"
	redlock -k a -- true
	REDISCLI_AUTH=wrong run -77 redlock -k a -- true
	echo "${here#unix://} s3cret one" >secret
	chmod 600 secret
	conf "redis $here" "password-file secret"
	redlock -k a -- true
	conf "redis $here" "password wrong"
	REDISCLI_AUTH='s3cret one' redlock -k a -- true
	redlock -k a --password-file secret -- true
}

@test "a configuration file that others can read must not have a password" {
	conf "redis $here" "password s3cret"
	chmod 644 conf
	conf_wrong "$PWD/conf:2: password: the file has a password and is readable by others"
	chmod 640 conf
	run -77 redlock -k a -- true
	conf "redis redis://:s3cret@h"
	chmod 604 conf
	conf_wrong "$PWD/conf:1: redis: the file has a password"
	# Whether it is used or not.
	conf_wrong "$PWD/conf:1: redis: the file has a password" -r "$here"
	conf "redis $here" "password-file secret"
	chmod 644 conf
	echo s3cret >secret
	chmod 600 secret
	run -77 redlock -k a -- true
	conf "redis $here"
	chmod 644 conf
	redlock -k a -- true
}

@test "a configuration file that others can write is refused, whatever its content" {
	local mode
	conf "redis $here"
	for mode in 620 602 664 666; do
		chmod "$mode" conf
		conf_wrong "'$PWD/conf' is writable by others than its owner"
		conf_wrong "'$PWD/conf' is writable by others than its owner" \
		    -r "$here"
	done
	chmod 644 conf
	redlock -k a -- true
	mkfifo -m 622 pipe
	echo "redis $here" >pipe 3>&- &
	conf_wrong "'pipe' is writable by others than its owner" --config pipe
	wait $! || true # nobody may have read what it wrote
}

@test "a configuration file of another user is refused, one of root is not" {
	needs_root
	conf "redis $here"
	chown 65534 conf
	conf_wrong "'$PWD/conf' belongs neither to root nor to you"
	conf_wrong "'$PWD/conf' belongs neither to root nor to you" -r "$here"
	cp "$run_path" program
	chmod 711 .
	chmod 644 conf
	export REDLOCK_CONFIG=conf
	for owner in 65534 0; do
		chown "$owner" conf
		run -69 --separate-stderr setpriv --reuid 65534 --clear-groups \
		    ./program -k a -r unix:///nowhere -- true
		says 'unix:///nowhere: No such file'
	done
	chown 65533 conf
	run -64 --separate-stderr setpriv --reuid 65534 --clear-groups \
	    ./program -k a -r unix:///nowhere -- true
	says "'conf' belongs neither to root nor to you"
}

# file_wrong OPTION TEXT: TEXT is wrong with "file", which the OPTION names.
file_wrong() {
	local url=redis://h
	[[ $1 != --tls-* ]] || url=rediss://h
	[[ $1 != --tls-cert ]] || set -- "$@" --tls-key /dev/null
	conf_wrong "$1: 'file' $2" -r "$url" "$1" file
}

@test "the password file, the TLS key and the CA are checked as the configuration file is" {
	local option mode
	conf ''
	for option in --config --password-file --tls-key --tls-ca; do
		echo s3cret >file
		for mode in 620 602 660; do
			chmod "$mode" file
			file_wrong "$option" 'is writable by others than its owner; chmod go-w it'
		done
		rm file
		file_wrong "$option" 'cannot be read: No such file'
	done
	for option in --password-file --tls-key; do
		echo s3cret >file
		for mode in 604 644; do
			chmod "$mode" file
			file_wrong "$option" 'is readable by others; chmod 600 it'
		done
	done
	printf 's3cret\0s3cret' >file
	chmod 640 file
	for option in --tls-key --tls-ca; do
		file_wrong "$option" 'contains a NUL byte'
	done
	conf_wrong 'file:1: the line contains a NUL byte' -r h \
	    --password-file file
	((EUID == 0)) || return 0
	chown 65534 file
	for option in --config --password-file --tls-key --tls-ca; do
		file_wrong "$option" 'belongs neither to root nor to you; chown it'
	done
	# Everybody may read the authorities.
	printf s3cret >file
	chown 0 file
	chmod 644 file
	run -64 redlock -r rediss://h --tls-ca file -k a -- true
	[[ $output != *'readable by others'* ]]
}

# pipe_wrong OPTION TEXT: the same of a pipe, to which nobody writes.
pipe_wrong() {
	local REDLOCK_RUN=$BATS_TEST_TMPDIR/limited
	file_wrong "$@"
}

@test "the owner and mode of a pipe in place of a file are checked before it is read" {
	local option
	conf ''
	printf '#!/bin/sh
exec timeout %s %s "$@"
' "${WAIT:-60}" 	    "$REDLOCK_RUN" >limited
	chmod 755 limited
	mkfifo -m 622 file
	for option in --config --password-file --tls-ca --tls-key --tls-cert; do
		pipe_wrong "$option" 'is writable by others than its owner'
	done
	((EUID == 0)) || return 0
	chown 65534 file
	chmod 600 file
	for option in --config --password-file --tls-ca --tls-key --tls-cert; do
		pipe_wrong "$option" 'belongs neither to root nor to you'
	done
}

# feed TEXT: writes it to "fifo", if somebody has opened that for reading.
feed() {
	dd of=fifo oflag=nonblock conv=nocreat,notrunc <<<"$1"
}

@test "the configuration file may be a named pipe that is written later or earlier" {
	local pid
	mkfifo -m 600 fifo
	echo "redis $here" >fifo 3>&- 4>&- &
	pid=$!
	redlock -k a --config fifo -- true
	wait "$pid"
	redlock -k a --config fifo -- true &
	pid=$!
	eventually feed "redis $here"
	wait "$pid"
}

@test "a password file that others can replace is refused" {
	local link
	mkdir -m 755 dir
	conf "redis $here"
	echo s3cret >dir/pw
	chmod 600 dir/pw
	redlock --show-config --password-file dir/pw
	ln -s dir/pw link
	ln -s "$PWD" up
	for link in link up/dir/pw "$PWD/up/link"; do
		redlock --show-config --password-file "$link"
	done
	for mode in 777 757 775; do
		chmod "$mode" dir
		for link in dir/pw link "$PWD/up/link"; do
			conf_wrong "is reached through '" --password-file "$link"
			says "dir', which users other than root and you can change; chmod go-w it"
		done
	done
	(cd dir && conf_wrong "'pw' is reached through '.', which users" \
	    --password-file pw)
	# Kubernetes mounts secrets in a sticky directory of root's.
	chmod 1777 dir
	redlock --show-config --password-file link
	((EUID == 0)) || return 0
	chown 65534 dir
	conf_wrong "reached through 'dir', which users" --password-file link
	chown 0 dir
	chown -h 65534 up
	conf_wrong "'up/dir/pw' is reached through 'up', which users other than root and you can change" \
	    --password-file up/dir/pw
	chown -h 65534 link
	conf_wrong "reached through 'link', which users" --password-file link
}

@test "a secret that others can read is refused, with the ways that work in a container" {
	local ways="is readable by others; for a secret of Kubernetes set defaultMode 0440 and fsGroup, for others use REDISCLI_AUTH, or a pipe to --password-file /dev/stdin"
	needs_root
	conf "redis $here"
	chmod 644 conf
	export REDLOCK_CONFIG=conf
	cp "$run_path" program
	chmod 711 .
	mkdir -m 1777 secrets
	echo s3cret >secrets/pw
	for mode in 444 644; do
		chmod "$mode" secrets/pw
		run -64 --separate-stderr setpriv --reuid 65534 --clear-groups \
		    ./program -k a --password-file secrets/pw -- true
		says "--password-file: 'secrets/pw' $ways"
	done
	# The message for a user who can change the mode asks for that.
	conf_wrong "'secrets/pw' is readable by others; chmod 600 it" \
	    --password-file secrets/pw
	chmod 440 secrets/pw
	run -0 setpriv --reuid 65534 --regid 0 --clear-groups ./program \
	    --show-config --password-file secrets/pw
	run -0 setpriv --reuid 65534 --clear-groups sh -c \
	    'echo s3cret | ./program --show-config --password-file /dev/stdin'
	# Nor can root on a file system that is mounted read-only.
	host_make
	chmod 444 secrets/pw
	run -64 --separate-stderr on_host sh -c '
		mount --bind secrets secrets && mount -o remount,bind,ro secrets &&
		exec "$@"' sh "$run_path" --show-config --password-file secrets/pw
	says "--password-file: 'secrets/pw' $ways"
}

@test "the default of --config is /etc/redlock-run.conf" {
	host_make
	unset REDLOCK_CONFIG
	run -69 --separate-stderr on_host "$run_path" -k a -- true
	says 'REDLOCK_REDIS or /etc/redlock-run.conf)'
	echo "redis $here" >etc/redlock-run.conf
	on_host "$run_path" -k a -- true
	echo "ttl soon" >etc/redlock-run.conf
	run -64 --separate-stderr on_host "$run_path" -k a -r "$here" -- true
	says "/etc/redlock-run.conf:1: ttl: 'soon'"
	on_host env REDLOCK_CONFIG=/dev/null "$run_path" -k a -r "$here" -- true
}

@test "a configuration file that exists but cannot be read is an error, whatever is given" {
	local how
	host_make
	unset REDLOCK_CONFIG
	for how in 'mkdir etc/redlock-run.conf' \
	    'ln -s nowhere etc/redlock-run.conf' \
	    'ln -s redlock-run.conf etc/redlock-run.conf'; do
		rm -rf etc/redlock-run.conf
		$how
		run -64 --separate-stderr on_host "$run_path" -k a -r "$here" \
		    -- true
		says "'/etc/redlock-run.conf' cannot be read: "
	done
}

@test "a configuration file without read permission is an error" {
	needs_root
	host_make
	unset REDLOCK_CONFIG
	cp "$run_path" program
	echo "redis $here" >etc/redlock-run.conf
	chmod 600 etc/redlock-run.conf
	run -64 --separate-stderr on_host setpriv --reuid 65534 --clear-groups \
	    ./program -k a -r "$here" -- true
	says "'/etc/redlock-run.conf' cannot be read: Permission denied"
	# Nor may we know whether it is there.
	chmod 700 etc
	run -64 --separate-stderr on_host setpriv --reuid 65534 --clear-groups \
	    ./program -k a -r "$here" -- true
	says "'/etc/redlock-run.conf' cannot be read: Permission denied"
}

@test "README's configuration file is valid and names its servers" {
	local i
	host_make
	mkdir bin
	ln -s "$run_path" bin/redlock-run
	host_how+=(-n)
	readme_block 'log syslog' >etc/redlock-run.conf
	for i in 1 2 3; do
		echo "127.0.0.$i redis$i.example.com"
	done >etc/hosts
	readme_block 'redis3.example.com Brass' >etc/redlock-run.password
	chmod 600 etc/redlock-run.password
	# Servers that end with this script, in a network of their own.
	cat >script <<-'END'
		python3 -c '
		import fcntl, socket, struct
		with socket.socket() as s:
		    fcntl.ioctl(s, 0x8914, struct.pack("16sh22x", b"lo", 0x49))'
		for i in 1 2 3; do
			word=$(sed -n "s/^redis$i.example.com //p" \
			    /etc/redlock-run.password)
			redis-server --bind 127.0.0.$i --requirepass "$word" --save '' \
			    >/dev/null &
		done
		trap 'kill $(jobs -p); wait' EXIT
		until redlock-run --restart-grace 0 -v -k k -- \
		    sh -c 'redlock-run --status; sleep 0.1' >out 2>err &&
		    [[ $(grep -c ': connected, ' err) == 3 ]]; do
			sleep 0.1
		done
	END
	unset REDLOCK_REDIS REDLOCK_CONFIG
	PATH=$PWD/bin:$PATH run on_host timeout 60 bash script
	cat out err
	grep -qE '^k +held .* sh ' out
	for i in 1 2 3; do
		grep -q "k: redis://redis$i.example.com:6379: connected" err
	done
}

@test "--show-config shows every setting, its value and its origin" {
	conf "redis $here" "kill-after 1h30m" "node-timeout 1s"
	run -0 --separate-stderr env REDLOCK_PREFIX=app: REDISCLI_AUTH=s3cret \
	    REDLOCK_NODE_TIMEOUT=2s REDLOCK_CONFIG="$PWD/conf" \
	    "$REDLOCK_RUN" --node-timeout 3s --show-config
	[ -z "$stderr" ]
	diff <(tr -s ' ' <<<"$output") - <<-END
		SETTING VALUE ORIGIN
		config $PWD/conf REDLOCK_CONFIG
		redis $here $PWD/conf:1
		prefix app: REDLOCK_PREFIX
		ttl 1m default
		max-ttl 0 default
		latest no default
		max-waiting - default
		kill-after 1h30m $PWD/conf:2
		node-timeout 3s --node-timeout
		restart-grace 0 default
		log stderr default
		password-file - default
		password *** REDISCLI_AUTH
		sentinel-password - default
		tls-ca - default
		tls-cert - default
		tls-key - default
		tls-server-name - default
	END
}

@test "--show-config shows the password file whose lines come before REDISCLI_AUTH" {
	printf '%s\n' 'h s3cret' >pw
	chmod 600 pw
	conf 'password-file pw'
	REDISCLI_AUTH=s3cret run -0 redlock --show-config
	grep -qE "^password-file +pw +$PWD/conf:1$" <<<"$output"
	grep -qE '^password +\*\*\* +REDISCLI_AUTH$' <<<"$output"
	REDISCLI_AUTH=s3cret run -0 redlock --password-file pw --show-config
	grep -qE '^password-file +pw +--password-file$' <<<"$output"
	grep -qE '^password +- +default$' <<<"$output"
}

@test "--show-config shows no password, wherever it comes from" {
	conf "redis redis://u:s3cret@h:1/2" "redis redis://:s3cret@i" \
	    "redis redis://j" "password s3cret" "sentinel-password s3cret"
	chmod 600 conf
	run -0 redlock --config "$PWD/conf" --show-config
	[[ $output != *s3cret* ]]
	[[ $output == *"redis://u:***@h:1/2 "*"redis://:***@i:6379 "*"redis://j:6379 "* ]]
	[[ $output == *'password '*'***'*"$PWD/conf:4"* ]]
	[[ $output == *'sentinel-password '*'***'*"$PWD/conf:5"* ]]
	run -0 redlock -r redis://u:s3cret@h --show-config
	[[ $output == *'redis://u:***@h:6379 '*' -r'* && $output != *s3cret* ]]
}

@test "--show-config takes no lock, needs no server and refuses what a run refuses" {
	conf "redis unix:///nonexistent"
	run -0 redlock --show-config
	run -64 redlock --show-config a
	run -64 redlock --show-config -k a
	run -64 redlock --show-config --ttl soon
	[[ $output == *"--ttl: 'soon' is not a duration"* ]]
}

#!/usr/bin/env bats
# The command line and the environment: each option, each
# kind of value, each mistake, and the ways to a password.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016,SC1003,SC2258

load ../lib/common

setup_file() {
	redis_start_tcp redis
	export tcp=127.0.0.1:$redis_port port=$redis_port
}

setup() { redis_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# connections: how many the server has seen so far, this question's included.
connections() {
	redis info stats | tr -d '\r' |
		sed -n 's/^total_connections_received://p'
}

# usage_error TEXT ARG...: ARGs are a usage error, told in a message that has
# TEXT, and nothing is sent to Redis.
usage_error() {
	local text=$1 before
	shift
	before=$(connections)
	run -64 --separate-stderr redlock "$@"
	[ -z "$output" ]
	says "$text"
	[ "$(connections)" -eq $((before + 1)) ]
}

# option_lease ARG...: the TTL in ms that COMMAND finds on the lock called "a".
option_lease() {
	redlock -k a "$@" -- sh -c "$(cli pttl redlock:a)"
}

# key_in_db KEY DB ARG...: with these ARGs the lock called "a" is KEY in DB.
key_in_db() {
	local key=$1 db=$2
	shift 2
	redlock -k a "$@" -- sh -c "$(cli -n "$db" exists "$key")" | grep -qx 1
}

# between LOW HIGH NUMBER
between() {
	if (($3 <= $1 || $3 > $2)); then
		echo "$3 is not between $1 and $2" >&2
		return 1
	fi
}

# password WORD: the default user of the server needs this password.
password() {
	redis acl setuser default resetpass ">$1"
}

## Parsing

# bats test_tags=quick
@test "option parsing stops at the first non-option" {
	run -0 --separate-stderr redlock -k a printf '%s|' -k b -n --help
	[ "$output" = '-k|b|-n|--help|' ]
}

# bats test_tags=quick
@test "option parsing stops at --" {
	run -0 --separate-stderr redlock -k a -n -- printf '%s|' -- -q
	[ "$output" = '--|-q|' ]
}

@test "option parsing leaves COMMAND's arguments untouched" {
	local args=('' ' ' 'a b' $'two\nlines' '$HOME' '*' '"' "'" '\n' '-x'
	    $'\xff' ';' '')

	redlock -k a -- printf '%s\0' "${args[@]}" >"$BATS_TEST_TMPDIR/got"
	printf '%s\0' "${args[@]}" | cmp - "$BATS_TEST_TMPDIR/got"
}

@test "an option's value may be attached or follow" {
	may_use x:
	run -0 --separate-stderr redlock -ka -t5s --min-hold=0 --ttl 7s \
	    --prefix x: -qnE4 echo yes
	[ "$output" = yes ]
}

@test "--help prints the options on stdout and exits 0" {
	local option

	run -0 --separate-stderr redlock --help
	[ -z "$stderr" ]
	for option in -k --key -n --nonblock -E --conflict-exit-code -t --ttl \
	    -w --wait -s --shared --slots --restart-grace \
	    --min-hold --max-run --kill-after --on-loss -o --only-command \
	    -r --redis --prefix --node-timeout --password-file -q --quiet \
	    -v --verbose --status --json -h --help -V --version; do
		[[ $output == *"$option"* ]] || {
			echo "--help does not mention $option"
			false
		}
	done
}

@test "-h prints at most 25 lines: the synopsis and the options that have a letter" {
	run -0 --separate-stderr redlock -h
	[[ -z $stderr && ${#lines[@]} -ge 20 && $(redlock -h | wc -l) -le 25 ]]
	redlock --help | grep -E '^(usage:|       redlock-run|  -.,)' |
		cut -c 1-30 | while read -r line; do
			[[ $output == *"$line"* ]]
		done
	not grep -E '.{81}' <<<"$output"
	[[ ${lines[-1]} == 'redlock-run --help prints all options.'* ]]
}

@test "without any argument the synopsis is on standard error, and the status is 64" {
	run -64 --separate-stderr redlock
	[[ -z $output ]]
	diff <(redlock --help | sed '/^$/,$d') - <<<"$stderr"
}

@test "--version prints the name and the version on stdout and exits 0" {
	run -0 --separate-stderr redlock --version
	[ -z "$stderr" ]
	[[ $output =~ ^redlock-run\ [0-9]+\.[0-9]+ ]]
	redlock -V | cmp - <(redlock --version)
}

@test "--version prints the format of the values in the locks as its second line" {
	run -0 redlock -V
	[ "${lines[1]}" = 'locks: redlock-run/2' ]
}

@test "--version names hiredis, whether there are TLS and pushes, OpenSSL, and the oldest Redis" {
	run -0 --separate-stderr redlock -V
	[[ ${lines[2]} =~ ^hiredis\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	if [[ ${lines[2]} == 'hiredis 0.'* ]]; then
		grep -qx 'Pushes: no: they need hiredis 1.0 or later' <<<"$output"
	else
		grep -qx 'Pushes: yes' <<<"$output"
	fi
	grep -qx 'Redis: 6.0 or later' <<<"$output"
	if redlock -r rediss://127.0.0.1:1 -k a -- true 2>"$BATS_TEST_TMPDIR/err" ||
	    ! grep -q 'needs redlock-run-tls\|TLS cannot be used' "$BATS_TEST_TMPDIR/err"; then
		[[ ${lines[3]} == 'TLS: yes' ]]
		[[ ${lines[4]} =~ ^OpenSSL\ [0-9]+\.[0-9]+\.[0-9]+ ]]
	else
		[[ ${lines[3]} == 'TLS: no: '* ]]
		run ! grep OpenSSL <<<"${lines[4]}"
	fi
}

## Usage errors

@test "a missing lock or command is a usage error" {
	usage_error -k -- true
	usage_error -k true
	usage_error "-k: '--' is not a lock; is a variable empty?" -k -- true
	usage_error "-k: '-q' looks like an option; is a variable empty? For a lock of that name write --key=-q" -k -q -- true
	usage_error "-k: '-q' looks like an option;" --key -q -- true
	usage_error "-k: '-q' looks like an option;" -k-q -- true
	usage_error "-k: '--wait=3s' looks like an option;" -qk --wait=3s -- true
	usage_error "-k: '=nightly' begins with '='; did you mean -k nightly? For a lock of that name write --key==nightly" -k=nightly -- true
	redlock --key=-q -- true
	redlock --key==q -- true
	redlock --key=-- -- true
	run -1 redlock --status -- -q
	usage_error '' -k a
	usage_error '' -k a --
}

@test "the last one of an option given twice wins, and long options may be abbreviated" {
	[ "$(redlock -k a -t 5s --tt 7s -- sh -c "$(cli pttl redlock:a)")" -gt 5000 ]
	[ "$(redlock -k a --tt 90s --ttl 7s -- sh -c "$(cli pttl redlock:a)")" -le 7000 ]
}

@test "a message names the word that begins the command too early, and suggests an option" {
	usage_error "'./backup.sh' begins the command, so the -k behind it is not an option of redlock-run; put -k first" \
	    ./backup.sh -k nightly
	usage_error "'sleep' begins the command" -w 1m sleep 1 --key=nightly
	usage_error '(did you mean -k nightly?)' nightly -- true
	usage_error '(did you mean --status?)' status
	usage_error '(did you mean --status nightly?)' nightly --status
	usage_error '(did you mean --history nightly?)' nightly --history --all
	usage_error 'no lock named: -k NAME is missing' true
	[[ $stderr != *'did you mean'* ]]
}

@test "a URL is no name of a lock, with or without a password" {
	usage_error "'redis://h' is a URL, not a lock; use -r for a server" -k redis://h -- true
	usage_error "'redis://h' is a URL, not a lock; use -r for a server" --status redis://h
	usage_error "'redis://h' is a URL, not a lock; use -r for a server" --status -k redis://h
}

@test "a usage error gives the form to write" {
	usage_error "'h1:1,h2:2' has a comma; separate servers by blanks" -k a -r h1:1,h2:2 -- true
	usage_error "examples: 500ms, 1.5s, 10m, 1h30m, 1d, or inf" -k a -w forever -- true
	usage_error "or inf" -k a --max-run none -- true
	usage_error "--ttl: '99999999999h' is too long; the maximum is " -k a -t 99999999999h -- true
	usage_error "--wait: '99999999999h' is too long" -k a -w 99999999999h -- true
	usage_error "has a port that is not 1 to 65535" -k a -r h:99999 -- true
	usage_error "write it as in redis://localhost" -k a -r redis:/localhost -- true
	usage_error "has the unknown parameter 'family'; leave it out" -k a -r 'redis://h:6379/0?family=0' -- true
	usage_error "'ssl_cert_reqs'; the certificate is always verified, by --tls-ca" -k a -r 'rediss://h:6380?ssl_cert_reqs=none' -- true
	usage_error "use sh -c for a command line in one word" -k a -c 'echo hi'
	usage_error "has a user or password, which a socket's URL cannot have" -k a -r unix://u:pw@/x -- true
}

@test "only an unknown option or a missing value points to --help" {
	usage_error '; see redlock-run --help' -k a --nope -- true
	usage_error '; see redlock-run --help' -k a --ttl
	usage_error 'COMMAND is missing' -k a
	[[ $stderr != *--help* ]]
	usage_error nothing-here -k a --password-file nothing-here -- true
	[[ $stderr != *--help* ]]
}

# bats test_tags=quick
@test "an unknown option is a usage error that quotes it" {
	usage_error nope -k a --nope -- true
	usage_error Z -k a -Z -- true
	usage_error Z -k a -qZ -- true
	usage_error nope -k a --nope=5 -- true
	usage_error "'-Z'" -k a --quiet -Zx -- true
}

@test "the message about a mistyped option names the right one" {
	usage_error "unknown option '--slotz' (did you mean --slots?)" --slotz=3
	usage_error "unknown option '--ttll' (did you mean --ttl?)" -k a --ttll 5s
	usage_error "unknown option '--zzzzzz'; see" --zzzzzz
	usage_error "unknown option '--passw' (did you mean --password-file?)" --passw=x
}

@test "the message about an ambiguous abbreviation names the candidates" {
	usage_error "ambiguous option '--re' (did you mean --replicas, --redis or --restart-grace?)" --re 3
}

@test "the message about an option of flock(1) names our option" {
	usage_error "unknown option '--timeout' (did you mean --wait or --max-run?)" --timeout 5
	usage_error "unknown option '--nb' (did you mean --nonblock?)" --nb
}

@test "an unknown option that is no ASCII character is a usage error that quotes it" {
	usage_error "unknown option '-\\x89'" $'-\x89'
	usage_error "unknown option '-\\x89'" -k a -q$'\x89' -- true
	usage_error "unknown option '-\\xff'" -k a --quiet $'-\xffx' -- true
}

@test "no usage error shows a word that may be a password" {
	usage_error 'password-file or REDISCLI_AUTH' -k a --pass s3cret -- true
	[[ $stderr != *s3cret* ]]
	usage_error 'password-file or REDISCLI_AUTH' -k a --password=s3cret -- true
	[[ $stderr != *s3cret* ]]
	usage_error "'--auth'" -k a --auth=s3cret -- true
	[[ $stderr != *s3cret* ]]
	usage_error "'--quiet'" -k a --quiet=s3cret -- true
	[[ $stderr != *s3cret* ]]
	usage_error "'redis://u:***@h' is a URL, not a lock; use -r for a server" -k redis://u:s3cret@h -- true
	[[ $stderr != *s3cret* ]]
}

@test "an option without its value is a usage error that names it" {
	usage_error k -k
	usage_error ttl -k a --ttl
	usage_error min-hold -k a --min-hold
	usage_error slots -k a --slots
	usage_error wait -k a --wait
}

@test "a value for an option that takes none is a usage error" {
	usage_error quiet -k a --quiet=yes -- true
	usage_error shared -k a --shared=yes -- true
}


@test "after a query option NAMEs and options mix, and -- ends the options" {
	redlock -k a --min-hold 1h -- true
	redlock -k b --min-hold 1h -- true
	redlock --key=--json --min-hold 1h -- true
	redlock -k c --min-hold 1h -- true
	run -0 redlock --status a --json b
	[ "$(grep -o '{"name":"[^"]*"' <<<"$output" | cut -d '"' -f 4 | xargs)" = 'a b' ]
	run -0 redlock --history a -k b --json
	[ "$(grep -o '{"name":"[^"]*"' <<<"$output" | wc -l)" -eq 2 ]
	run -0 redlock --status a -- --json b
	[ "$(sed 1d <<<"$output" | cut -d ' ' -f 1 | xargs)" = '--json a b' ]
	run -1 redlock --break a -v
	[[ $output == *'--break a -v' ]]
}

@test "a word before the query option is a COMMAND" {
	usage_error '-k NAME is missing' a --status
	usage_error 'named twice' --status a -k a
}

@test "two query options exclude each other" {
	usage_error '--status and --check cannot be combined' --status --check
	usage_error '--break and --history cannot be combined' --break --history a
	redlock --status --status
}

@test "--check takes no NAME" {
	usage_error "'a': --check takes no lock name" --check a
	usage_error "'a': --check takes no lock name" --check -- a
	usage_error '--key cannot be combined with --check' --check -k a
}

@test "--break takes exactly one NAME" {
	usage_error 'no lock named: --break needs a NAME' --break
	usage_error '--break takes one lock at a time' --break a b
}

@test "--status -q prints nothing and has the exit status" {
	redlock -k a --min-hold 1h -- true
	run -0 redlock -q --status a
	[ -z "$output" ]
	run -1 redlock --status a b --quiet
	[ -z "$output" ]
	if redlock -q --status b; then false; fi
}

@test "-q does not silence a usage error" {
	usage_error 'nope' -q -k a -t nope -- true
}

@test "each line of a usage error starts with the program's name, whatever was typed" {
	usage_error 'bad' -k a -t $'bad\nline\e[31m' -- true
	[[ $stderr != *$'\e'* ]]
	usage_error 'bad' -k $'bad\nline' -- true
	usage_error 'bad' -r $'bad\nline' -k a -- true
}

## NAME

@test "NAME is 1 to 512 bytes" {
	local name

	name=$(printf 'x%.0s' {1..512})
	redlock -k "$name" -- true
	usage_error "${name:0:20}" -k "x$name" -- true
	usage_error 512 -k "x$name" -- true
	usage_error '' -k '' -- true
}

@test "NAME may have blanks, colons, braces and letters of any language" {
	local name

	for name in ' ' 'a b' 'a:b' 'ü€😀' '{' 'a{b' '{tag}' 'a{tag}b' '{a}}' \
	    'a~:b' '-' '*' '[x]?' "it's" '"' '\'; do
		run -0 --separate-stderr redlock --key="$name" -- \
		    sh -c 'printf %s "$REDLOCK_KEY"'
		[ "$output" = "$name" ]
	done
}

@test "NAME has no control characters" {
	usage_error a -k $'a\nb' -- true
	usage_error a -k $'a\tb' -- true
	usage_error a -k $'a\x7fb' -- true
	usage_error a -k $'a\x01b' -- true
	usage_error a -k $'a\eb' -- true
	[[ $stderr != *$'\e'* ]]
}

@test "NAME and --prefix have no invisible characters, which messages escape" {
	local c

	# category Cf, the fillers, a joiner, a variation selector, and blanks
	for c in $'\xc2\xad' $'\xe2\x80\x8b' $'\xe2\x80\x8d' $'\xe2\x81\xa0' \
	    $'\xef\xbb\xbf' $'\xe1\x85\x9f' $'\xe1\x85\xa0' $'\xe3\x85\xa4' \
	    $'\xf3\xa0\x80\xa1' $'\xe2\x80\xae' $'\xcd\x8f' $'\xef\xbe\xa0' \
	    $'\xef\xb8\x8f' $'\xc2\xa0' $'\xe2\x80\x83' $'\xe3\x80\x80'; do
		usage_error 'contains an invisible character' -k "a${c}b" -- true
		[[ $stderr != *"$c"* ]]
		usage_error '--prefix' -k a --prefix "a$c" -- true
		run -0 redlock -k a -m "x${c}y" -- "$REDLOCK_RUN" --status -v a
		[[ $output != *"$c"* ]]
	done
}

@test "NAME has no :~" {
	usage_error 'a:~b' -k 'a:~b' -- true
	usage_error ':~' -k ':~' -- true
}

@test "NAME has no } without a {tag} that is not empty" {
	usage_error 'a}' -k 'a}' -- true
	usage_error '{}' -k '{}' -- true
	usage_error '{}{a}' -k '{}{a}' -- true
	usage_error 'a}b{' -k 'a}b{' -- true
}

@test "without a prefix NAME is not entirely in braces: another lock would have its queue" {
	usage_error "'{x}' with --prefix '' would share" -k '{x}' --prefix '' -- true
	usage_error "'{{x}' with --prefix '{' would share" -k a -k '{{x}' --prefix '{' -- true
	usage_error "'{x}' with --prefix '' would share" --status -k '{x}' --prefix ''
	may_use ''
	redlock -k '{x}y' -k 'y{x}' --prefix '' -- true
	may_use redlock:
	redlock -k '{x}' -- true
}

## DURATION

# bats test_tags=quick
@test "a DURATION is a number with ms, s, m, h or d" {
	between 60000 90000 "$(option_lease -t 90000ms)"
	between 60000 90000 "$(option_lease -t 90s)"
	between 60000 180000 "$(option_lease -t 3m)"
	between 3600000 7200000 "$(option_lease -t 2h)"
	between 86400000 172800000 "$(option_lease -t 2d)"
}

@test "a DURATION without a unit is in seconds" {
	between 60000 90000 "$(option_lease -t 90)"
}

@test "a DURATION may have a fraction" {
	between 60000 90000 "$(option_lease -t 1.5m)"
	between 60000 90000 "$(option_lease --ttl=0.025h)"
	between 20000 30500 "$(option_lease -t 30.5)"
	between 5000 10000 "$(option_lease -t 9999.5ms)"
}

@test "a DURATION may have several units, as it is printed" {
	between 5340000 5400000 "$(lease -t 1h30m)"
	between 60000 63500 "$(lease -t 1m3s500ms)"
	between 86400000 93600000 "$(lease --ttl=1d2h)"
}

@test "a malformed DURATION is a usage error that quotes it" {
	local bad

	for bad in '' -1 -1s nan NaN inf infinity 1x 1ss '1 s' '1s ' s ms . 1..2 \
	    1,5 1e400 99999999999999999999d 9e99d 1s1 30m12h 1h30 x; do
		usage_error "$bad" -k a --ttl "$bad" -- true
	done
	for bad in '' -1 nan inf 1x 1e400 99999999999999999999d; do
		usage_error "$bad" -k a --min-hold "$bad" -- true
		[ "$bad" = inf ] || usage_error "$bad" -k a --max-run "$bad" -- true
		usage_error "$bad" -k a --kill-after "$bad" -- true
		usage_error "$bad" -k a --node-timeout "$bad" -- true
	done
}

@test "a usage error names the option" {
	usage_error ttl -k a -t 1x -- true
	usage_error wait -k a -w 1x -- true
	usage_error min-hold -k a --min-hold 1x -- true
	usage_error max-run -k a --max-run 1x -- true
	usage_error kill-after -k a --kill-after 1x -- true
	usage_error node-timeout -k a --node-timeout 1x -- true
	usage_error on-loss -k a --on-loss 1x -- true
	usage_error -E -k a -E 1x -- true
	usage_error slots -k a --slots 1x -- true
}

@test "the lease is at least 200 ms" {
	# whether that is enough for a run, on a busy machine, is not asked here
	redis set redlock:a somebody px 60000
	run -75 redlock -k a -t 200ms --node-timeout 3s -- true
	run -75 redlock -k a -t 0.2 --node-timeout 3s -- true
	usage_error 199ms -k a -t 199ms -- true
	usage_error 0 -k a -t 0 -- true
	usage_error 0.05 -k a -t 0.05 -- true
}

@test "the default lease is 60 s" {
	between 40000 60000 "$(option_lease)"
}

## The other options

@test "-n does not wait, like the default" {
	redis set redlock:a somebody px 60000
	run -75 redlock -n -k a -- true
	run -75 redlock --nonblock -k a -- true
	run -75 redlock -k a -- true
}

@test "-E is a number from 0 to 255" {
	local bad

	redis set redlock:a somebody px 60000
	run -0 redlock -k a -E 0 -- true
	run -1 redlock -k a -E1 -- true
	run -255 redlock -k a --conflict-exit-code=255 -- true
	for bad in '' -1 256 x 1x 1.5 0x1 99999999999999999999; do
		usage_error "$bad" -k a -E "$bad" -- true
	done
}

@test "--slots is a number from 1 to 64" {
	local bad

	redlock -k a --slots 1 -- true
	redlock -k a --slots=64 -- true
	for bad in '' 0 -1 x 1x 1.5 65 1000 0x1 ' 1' 99999999999999999999; do
		usage_error "'$bad'" -k a --slots "$bad" -- true
		says --slots
	done
}

@test "--shared and --slots exclude each other" {
	usage_error --shared -k a -s --slots 2 -- true
	usage_error --shared -k a -s --slots 1 -- true
	says --slots
	usage_error --slots -k a --slots 2 --shared -- true
	says --shared
}

@test "--status takes neither --shared nor --slots" {
	usage_error --shared --status -s
	usage_error --shared --shared --status -k a
	usage_error --slots --status --slots 2
	usage_error --slots --slots 1 --status -k a
}

@test "--on-loss is stop or warn" {
	local bad

	redlock -k a --on-loss stop -- true
	redlock -k a --on-loss=warn -- true
	for bad in '' Stop ignore warn,; do
		usage_error "$bad" -k a --on-loss "$bad" -- true
	done
}

@test "--min-hold of 0 means none" {
	redlock -k a --min-hold 0 -- true
	[ "$(redis exists redlock:a)" = 0 ]
}

@test "--prefix is the beginning of the Redis key, before NAME" {
	may_use jobs/
	key_in_db jobs/a 0 --prefix jobs/
	may_use ''
	key_in_db a 0 --prefix ''
	key_in_db redlock:a 0
}

@test "--node-timeout limits how long a server may take to reply" {
	local start took

	redis_freeze
	start=$(now_us)
	run -69 redlock -k a --node-timeout 100ms -- true
	took=$((($(now_us) - start) / 1000))
	((took >= 100 && took < 2500))

	start=$(now_us)
	run -69 redlock -k a --node-timeout 0.7 -- true
	took=$((($(now_us) - start) / 1000))
	((took >= 700))
}

@test "the default node timeout is a tenth of the TTL" {
	local start took

	redis_freeze
	start=$(now_us)
	run -69 redlock -k a -t 8s -- true
	took=$((($(now_us) - start) / 1000))
	((took >= 800 && took < 2500))

	start=$(now_us)
	run -69 redlock -k a -t 200ms -- true
	took=$((($(now_us) - start) / 1000))
	((took >= 50 && took < 2500))
}

## Servers

@test "a server may be written redis://host:port, redis://host:port/db or host:port" {
	unset REDLOCK_REDIS
	key_in_db redlock:a 0 -r "redis://$tcp"
	key_in_db redlock:a 0 -r "redis://$tcp/"
	key_in_db redlock:a 3 -r "redis://$tcp/3"
	key_in_db redlock:a 0 --redis="$tcp"
}

@test "a server may be written unix:///path or unix:///path?db=N" {
	local url=$REDLOCK_REDIS

	unset REDLOCK_REDIS
	key_in_db redlock:a 0 -r "$url"
	key_in_db redlock:a 5 -r "$url?db=5"
}

@test "a host is tried at each of its addresses" {
	needs_localhost
	# the server listens on 127.0.0.1, localhost may be ::1 as well
	redlock -k a -r "localhost:$port" -- true
}

@test "a host may be an IPv6 address in brackets" {
	redis_start_tcp six --bind ::1 || skip "needs IPv6"
	redlock -k a -r "redis://[::1]:$redis_port" -- sh -c \
	    '$ADMIN_CLI -s "$1" exists redlock:a' sh \
	    "$BATS_FILE_TMPDIR/six.sock" | grep -qx 1
	redlock -k a -r "[::1]:$redis_port" -- true
	redis_stop six
}

@test "locks in different databases do not exclude each other" {
	run -0 redlock -k a -r "redis://$tcp/1" -- \
	    "$REDLOCK_RUN" -k a -r "redis://$tcp/2" -- echo both
	[ "$output" = both ]
}

@test "a database that the server does not have is never replaced by another" {
	run --separate-stderr redlock -k a -r "redis://$tcp/9999" -- echo no
	[ "$status" -eq 69 ] || [ "$status" -eq 77 ]
	[ -z "$output" ]
	says 9999
	[ "$(redis dbsize)" = 0 ]
}

@test "a malformed URL is a usage error that quotes it" {
	local bad masked

	for bad in '' redis:// http://a redis://a:1/x redis://a:1/-1 \
	    redis://a:1/1x a: :1 unix:// unix://?db=1 ftp://a:1 \
	    redis://a/99999999999999999999; do
		usage_error "'$bad'" -k a -r "$bad" -- true
	done
	# What is no port or number may be a password.
	for bad in redis://a:0 redis://a:65536 redis://a:x a:x a:99999 \
	    redis://a:99999999999999 'redis://[::1:1' "unix:///a?db=x" \
	    "unix:///a?db=-1" "unix:///a?base=1"; do
		masked=${bad%"${bad##*[:=]}"}
		[[ $bad != *'['* ]] || masked='redis://[:'
		usage_error "'$masked***'" -k a -r "$bad" -- true
	done
}

@test "a message about a URL leaves out its password" {
	usage_error "'redis://me:***'" -k a -r redis://me:s3cret@a:99999 -- true
	[[ $stderr != *s3cret* ]]
	usage_error 'a:1/x' -k a -r redis://:s3cret@a:1/x -- true
	[[ $stderr != *s3cret* ]]
	usage_error 'a:1' -k a -r http://me:s3cret@a:1 -- true
	[[ $stderr != *s3cret* ]]
	run -69 --separate-stderr redlock -k a -v \
	    -r redis://me:s3cret@127.0.0.1:1 -- true
	says 127.0.0.1:1
	[[ $stderr != *s3cret* ]]
}

@test "rediss:// is a usage error in a build without TLS, and the message names the requirement" {
	cd "$BATS_TEST_TMPDIR"
	cp "$REDLOCK_RUN" alone
	REDLOCK_RUN=$PWD/alone
	! redlock --version | grep -qx 'TLS: yes' ||
		skip "needs a build whose TLS is a module"
	run -64 --separate-stderr redlock -k a -r rediss://127.0.0.1:1 -- \
	    touch ran
	says rediss:// redlock-run-tls.so OpenSSL libssl-dev
	run -64 --separate-stderr redlock --status -r rediss://127.0.0.1:1
	says libssl-dev
	[ ! -e ran ]
}

@test "a message about the built-in default server mentions that none is configured" {
	unset REDLOCK_REDIS
	unshare -rn true || skip "needs network namespaces"
	# in a network of its own nothing can listen on the default port
	run -69 --separate-stderr unshare -rn "$REDLOCK_RUN" -k a -- true
	says 127.0.0.1:6379 '(the built-in default; set -r or REDLOCK_REDIS)'
	run -69 --separate-stderr env -u REDLOCK_CONFIG unshare -rn \
	    "$REDLOCK_RUN" -k a -- true
	says 'set -r, REDLOCK_REDIS or /etc/redlock-run.conf'
	run -69 --separate-stderr unshare -rn "$REDLOCK_RUN" -k a \
	    -r 127.0.0.1 -- true
	says 127.0.0.1
	[[ $stderr != *default* ]]
}

## Site settings

# bats test_tags=quick
@test "REDLOCK_REDIS names the server" {
	REDLOCK_REDIS=redis://$tcp/4 key_in_db redlock:a 4
}

@test "REDLOCK_PREFIX sets --prefix, and may be empty" {
	may_use ''
	REDLOCK_PREFIX=jobs/ key_in_db jobs/a 0
	REDLOCK_PREFIX='' key_in_db a 0
	REDLOCK_PREFIX=$(printf %0513d 1) \
	    run -64 --separate-stderr redlock -k a -- true
	says "REDLOCK_PREFIX: '$(printf %064d 0)...' is longer than "
}

@test "REDLOCK_TTL sets --ttl" {
	export REDLOCK_TTL=100
	between 60000 100000 "$(option_lease)"
}

@test "--max-ttl and REDLOCK_MAX_TTL name the longest lease, and nothing below --ttl" {
	local value=(sh -c "$(cli get redlock:a)")
	[[ $(redlock -k a -t 1m --max-ttl 30m -- "${value[@]}") == \
	    *' ttl=1800000 lease=60000'* ]]
	[[ $(REDLOCK_MAX_TTL=2h redlock -k a -- "${value[@]}") == \
	    *' ttl=7200000 lease=60000'* ]]
	for max in 0 30s 1m; do
		[[ $(REDLOCK_MAX_TTL=2h redlock -k a --max-ttl $max -- \
		    "${value[@]}") == *' ttl=60000 '[!l]* ]]
	done
	between 0 60000 "$(option_lease --max-ttl 30m)"
	usage_error "--max-ttl: 'x' is not a duration" -k a --max-ttl x -- true
}

@test "--latest needs -w and an exclusive lock; REDLOCK_LATEST concerns only such runs" {
	usage_error '--latest works only with --wait' -k a --latest -- true
	usage_error '--latest works only with --wait' -k a --latest -w 0 -- true
	usage_error '--latest works only with --wait' -k a -w 1m -n --latest -- true
	usage_error '--latest and --shared cannot be combined' -k a -w 1m --latest -s -- true
	usage_error '--latest and --slots cannot be combined' -k a -w 1m --latest --slots 3 -- true
	usage_error '--latest and --slots cannot be combined' -k a -w 1m --latest --slots 1 -- true
	usage_error "option '--latest' takes no value" -k a -w 1m --latest=yes -- true
	redlock -k a -w 1m --latest -- true
	export REDLOCK_LATEST=yes
	redlock -k a -- true
	redlock -k a -w 1m -s -- true
	redlock -k a -w 1m --slots 3 -- true
	REDLOCK_LATEST=no redlock -k a -w 1m -- true
	REDLOCK_LATEST=maybe usage_error "REDLOCK_LATEST: 'maybe' is not 'yes' or 'no'" \
	    -k a -w 1m -- true
	REDLOCK_LATEST='' usage_error "REDLOCK_LATEST: '' is not 'yes' or 'no'" \
	    -k a -w 1m -- true
}

@test "REDLOCK_LATEST sets --latest, and the command line adds to 'latest no'" {
	local beat='{redlock:a}:~beat'
	hold a
	echo "latest no" >"$BATS_TEST_TMPDIR/conf"
	for way in 'REDLOCK_LATEST=yes' 'REDLOCK_LATEST=no --latest' \
	    "REDLOCK_CONFIG=$BATS_TEST_TMPDIR/conf --latest"; do
		# shellcheck disable=SC2086
		env ${way%% *} "$REDLOCK_RUN" -k a -w 1m ${way#"${way%% *}"} -- true 3>&- 4>&- &
		eventually redis_has_beat ' latest=1 '
		kill "$!"
		wait "$!" || :
		[ "$(redis exists "$beat")" = 0 ]
	done
	let_go
}

@test "--no-latest switches off what the environment or a file says" {
	hold a
	REDLOCK_LATEST=yes redlock -k a -w 1m --no-latest -- true 3>&- 4>&- &
	eventually queue_is 1
	[[ $(redis hvals '{redlock:a}:~beat') != *latest=* ]]
	let_go
	wait $!
	REDLOCK_LATEST=yes redlock -k a --no-latest -s -- true
	run -0 env REDLOCK_LATEST=yes "$REDLOCK_RUN" --show-config --no-latest
	[[ $(tr -s ' ' <<<"$output") == *$'\nlatest no --no-latest\n'* ]]
}

# redis_has_beat TEXT: a waiter for "a" has it in its beat.
redis_has_beat() {
	[[ $(redis hvals '{redlock:a}:~beat') == *"$1"* ]]
}

@test "--max-waiting and REDLOCK_MAX_WAITING limit the waiters to at most 1000, for runs with -w" {
	local n waiter
	for n in 1001 -1 x '' 1.5 ' 3'; do
		usage_error "--max-waiting: '$n' is not a number from 0 to 1000" \
		    -k a -w 1m --max-waiting "$n" -- true
		REDLOCK_MAX_WAITING=$n usage_error \
		    "REDLOCK_MAX_WAITING: '$n' is not a number from 0 to 1000" -k a -- true
	done
	for n in '' '-w 0' '-w 1m -n'; do
		# shellcheck disable=SC2086
		usage_error "--max-waiting works only with --wait" \
		    -k a --max-waiting 3 $n -- true
	done
	redlock -k a -w 1m --max-waiting 1 -- true
	redlock -k a --max-w=1000 -w inf -- true
	hold a
	redlock -k a -w 5m -- true 3>&- 4>&- &
	waiter=$!
	eventually queue_is 1
	REDLOCK_MAX_WAITING=1 run -75 --separate-stderr redlock -k a -w 5m -- true
	says 'a: 1 run waits already (--max-waiting 1)'
	REDLOCK_MAX_WAITING=1 run -75 --separate-stderr redlock -k a -- true
	says 'a: held by '
	REDLOCK_MAX_WAITING=1 redlock -k b -- true
	usage_error '--latest and --max-waiting cannot be combined' \
	    -k a -w 1m --latest --max-waiting 3 -- true
	REDLOCK_LATEST=yes run -75 --separate-stderr redlock -k a -w 5m --max-waiting 1 -- true
	says 'a: 1 run waits already (--max-waiting 1)'
	REDLOCK_MAX_WAITING=1 run -75 --separate-stderr redlock -k a -w 10ms --latest -- true
	says 'a: held by '
	# 0 switches off what the environment or a file says.
	REDLOCK_MAX_WAITING=1 run -75 --separate-stderr redlock -k a -w 10ms --max-waiting 0 -- true
	says 'a: held by '
	REDLOCK_MAX_WAITING=0 run -75 --separate-stderr redlock -k a -w 10ms -- true
	says 'a: held by '
	let_go
	REDLOCK_MAX_WAITING=1 redlock -k b --max-waiting 0 -- true
	redlock -k b -w 1m --latest --max-waiting 0 -- true
	wait "$waiter"
	run -0 env REDLOCK_MAX_WAITING=7 "$REDLOCK_RUN" --show-config
	[[ $(tr -s ' ' <<<"$output") == *$'\nmax-waiting 7 REDLOCK_MAX_WAITING\n'* ]]
}

@test "REDLOCK_NODE_TIMEOUT sets --node-timeout" {
	local start

	redis_freeze
	export REDLOCK_NODE_TIMEOUT=700ms
	start=$(now_us)
	run -69 redlock -k a -- true
	(($(now_us) - start >= 700000))
}

@test "REDLOCK_KILL_AFTER sets --kill-after" {
	local start took

	export REDLOCK_KILL_AFTER=600ms
	start=$(now_us)
	run -124 redlock -k a --max-run 1s -- \
	    sh -c 'trap "" TERM; while :; do sleep 0.05; done'
	took=$((($(now_us) - start) / 1000))
	((took >= 1600 && took < 5500))
}

@test "REDLOCK_PASSWORD_FILE sets --password-file" {
	password s3cret
	(umask 077 && echo s3cret >"$BATS_TEST_TMPDIR/pw")
	REDLOCK_PASSWORD_FILE=$BATS_TEST_TMPDIR/pw redlock -k a -- true
}

@test "-r with the path of a socket is its unix:// URL" {
	redlock -r "$BATS_FILE_TMPDIR/redis.sock" -k a -- true
	usage_error twice -r "$BATS_FILE_TMPDIR/redis.sock" \
	    -r "unix://$BATS_FILE_TMPDIR/redis.sock" -k a -- true
}

@test "the command line takes precedence over the environment" {
	export REDLOCK_TTL=100 REDLOCK_PREFIX=jobs/ REDLOCK_NODE_TIMEOUT=30s
	export REDLOCK_KILL_AFTER=1h REDLOCK_REDIS=unix:///nowhere
	local here=$BATS_FILE_TMPDIR/redis.sock start

	between 200000 300000 "$(option_lease -r "unix://$here" -t 5m \
	    --prefix redlock:)"

	may_use jobs/
	run -124 redlock -r "unix://$here" -k a --max-run 100ms \
	    --kill-after 200ms -- sh -c 'trap "" TERM; while :; do sleep 0.05; done'

	redis_freeze
	start=$SECONDS
	run -69 redlock -r "unix://$here" -k a --node-timeout 100ms -- true
	((SECONDS - start < 20))
}

@test "an invalid site setting is a usage error that names and quotes it" {
	REDLOCK_TTL=oops usage_error oops -k a -- true
	says REDLOCK_TTL
	REDLOCK_KILL_AFTER=-5 usage_error -5 -k a -- true
	says REDLOCK_KILL_AFTER
	REDLOCK_NODE_TIMEOUT=1x usage_error 1x -k a -- true
	says REDLOCK_NODE_TIMEOUT
	REDLOCK_REDIS=http://oops usage_error http://oops -k a -- true
	says REDLOCK_REDIS
	REDLOCK_PASSWORD_FILE=/no/such usage_error /no/such -k a -- true
}

@test "an empty REDLOCK_REDIS is an error, not the default" {
	REDLOCK_REDIS='' usage_error REDLOCK_REDIS -k a -- true
}

@test "only site settings are read from the environment" {
	export REDLOCK_MIN_HOLD=1h REDLOCK_MAX_RUN=1ms REDLOCK_ON_LOSS=x \
	    REDLOCK_WAIT=x REDLOCK_SHARED=1 REDLOCK_SLOTS=x \
	    REDLOCK_CONFLICT_EXIT_CODE=7 REDLOCK_QUIET=1 REDLOCK_VERBOSE=1 \
	    REDLOCK_STATUS=1 REDLOCK_JSON=1 REDLOCK_TOKEN=x REDLOCK_FENCE=x \
	    REDLOCK_PID=x REDLOCK_SITE=x REDLOCK_ONLY_COMMAND=1

	run -0 --separate-stderr redlock -k a -- true
	silent
	[ "$(redis exists redlock:a)" = 0 ]
	redis set redlock:a somebody px 60000
	run -75 --separate-stderr redlock -k a -- true
	says a
	REDLOCK_KEY=a usage_error -k -- true
}

## Passwords

@test "REDISCLI_AUTH is the password of a URL without one" {
	password s3cret
	run -77 redlock -k a -- true
	REDISCLI_AUTH=s3cret redlock -k a -- true
	REDISCLI_AUTH=wrong run -77 redlock -k a -- true
}

@test "--password-file takes a password that stands alone in its first line" {
	password 's3cret'
	umask 077
	printf 's3cret\n' >"$BATS_TEST_TMPDIR/newline"
	printf 's3cret' >"$BATS_TEST_TMPDIR/bare"
	redlock -k a --password-file "$BATS_TEST_TMPDIR/newline" -- true
	redlock -k a --password-file "$BATS_TEST_TMPDIR/bare" -- true
}

@test "a URL may have a user and a password" {
	redis acl setuser me on '>s3cret' "${permitted[@]}"
	redis acl setuser default off
	redlock -k a -r "redis://me:s3cret@$tcp" -- true
	run -77 redlock -k a -r "redis://me:wrong@$tcp" -- true
	run -77 redlock -k a -r "redis://$tcp" -- true
	redis acl deluser me
}

@test "a user and a password may be percent-encoded" {
	redis acl setuser me@here on '>a/b:c@d%e' "${permitted[@]}"
	redis acl setuser default off
	redlock -k a -r "redis://me%40here:a%2Fb%3Ac%40d%25e@$tcp" -- true
	redis acl deluser me@here
}

@test "a URL may have a password alone" {
	password s3cret
	redlock -k a -r "redis://:s3cret@$tcp" -- true
}

@test "a URL may have a user alone, with the password from elsewhere" {
	redis acl setuser me on '>s3cret' "${permitted[@]}"
	redis acl setuser default off
	(umask 077 && echo s3cret >"$BATS_TEST_TMPDIR/pw")
	REDISCLI_AUTH=s3cret redlock -k a -r "redis://me@$tcp" -- true
	redlock -k a -r "redis://me@$tcp" \
	    --password-file "$BATS_TEST_TMPDIR/pw" -- true
	redis acl deluser me
}

@test "the password of a URL takes precedence over the file, and that over REDISCLI_AUTH" {
	password s3cret
	umask 077
	echo wrong >"$BATS_TEST_TMPDIR/wrong"
	echo s3cret >"$BATS_TEST_TMPDIR/right"
	REDISCLI_AUTH=wrong redlock -k a -r "redis://:s3cret@$tcp" -- true
	redlock -k a -r "redis://:s3cret@$tcp" \
	    --password-file "$BATS_TEST_TMPDIR/wrong" -- true
	REDISCLI_AUTH=wrong redlock -k a \
	    --password-file "$BATS_TEST_TMPDIR/right" -- true
	REDLOCK_PASSWORD_FILE=$BATS_TEST_TMPDIR/wrong redlock -k a \
	    --password-file "$BATS_TEST_TMPDIR/right" -- true
}

@test "a password file that cannot be read is a usage error" {
	usage_error /no/such/file -k a --password-file /no/such/file -- true
	usage_error "$BATS_TEST_TMPDIR" -k a --password-file "$BATS_TEST_TMPDIR" -- true
}

@test "a password file that others can read is an error" {
	local file=$BATS_TEST_TMPDIR/pw mode

	password s3cret
	echo s3cret >"$file"
	for mode in 644 604 666; do
		chmod "$mode" "$file"
		usage_error "$file" -k a --password-file "$file" -- true
		[[ $stderr != *s3cret* ]]
	done
	chmod 600 "$file"
	redlock -k a --password-file "$file" -- true
	chmod 400 "$file"
	redlock -k a --password-file "$file" -- true
}

@test "no message shows a password" {
	(umask 077 && echo s3cret-file >"$BATS_TEST_TMPDIR/pw")
	password right
	run -77 --separate-stderr redlock -v -k a \
	    -r "redis://:s3cret-url@$tcp" -- true
	says "$tcp"
	[[ $stderr != *s3cret* ]]
	REDISCLI_AUTH=s3cret-env run -77 --separate-stderr \
	    redlock -v -k a -- true
	[[ $stderr != *s3cret* ]]
	run -77 --separate-stderr redlock -v -k a \
	    --password-file "$BATS_TEST_TMPDIR/pw" -- true
	[[ $stderr != *s3cret* ]]
	password s3cret-url
	run -0 --separate-stderr redlock -v -k a \
	    -r "redis://:s3cret-url@$tcp" -- true
	says ''
	[[ $stderr != *s3cret* ]]
}

@test "neither ps nor COMMAND's environment shows a password" {
	local mark=s3cret-$RANDOM$RANDOM

	(umask 077 && echo "$mark" >"$BATS_TEST_TMPDIR/pw")
	password "$mark"
	redlock -k a --password-file "$BATS_TEST_TMPDIR/pw" -- \
	    sh -c 'env; tr "\0" " " </proc/$PPID/cmdline;
		tr "\0" " " </proc/$PPID/environ; ps -eo args' \
	    >"$BATS_TEST_TMPDIR/seen"
	grep -q REDLOCK_TOKEN= "$BATS_TEST_TMPDIR/seen"
	not grep -q "$mark" "$BATS_TEST_TMPDIR/seen"
}

@test "no value in Redis shows a password" {
	password s3cret
	redlock -k a -r "redis://:s3cret@$tcp" -- sh -c "
		$(cli --scan)
		$(cli get redlock:a)" >"$BATS_TEST_TMPDIR/seen"
	grep -q token= "$BATS_TEST_TMPDIR/seen"
	not grep -q s3cret "$BATS_TEST_TMPDIR/seen"
}

@test "COMMAND's environment is otherwise unchanged" {
	password any
	run -0 --separate-stderr env -i "REDLOCK_REDIS=$REDLOCK_REDIS" \
	    REDLOCK_CONFIG=/dev/null REDLOCK_TTL=10 REDISCLI_AUTH=any \
	    "ODD=a b" "$REDLOCK_RUN" -k a -- env
	[[ $output == *"REDLOCK_REDIS=$REDLOCK_REDIS"* ]]
	[[ $output == *"REDLOCK_TTL=10"* ]]
	[[ $output == *"REDISCLI_AUTH=any"* ]]
	[[ $output == *"ODD=a b"* ]]
}

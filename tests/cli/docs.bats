#!/usr/bin/env bats
#
# The documents agree with each other and with the program.

# shellcheck disable=SC2154	# run_path, bg_pid: of common.bash

load ../lib/common
load ../lib/complete
load ../lib/readme

setup_file() {
	redis_start
	redis_start other
}

setup() {
	man=$top/man/redlock-run.1
	conf=$top/man/redlock-run.conf.5
	protocol=$top/man/redlock-run.7
	cd "$BATS_TEST_TMPDIR" || exit
	mkdir bin
	ln -s "$REDLOCK_RUN" bin/redlock-run
	PATH=$PWD/bin:$PATH
	redis_reset
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# Options as lines of "short long value": "-k --key yes", "- --json no".

options_of_help() {
	redlock --help | sed -nE \
	    -e 's/^  (-.), (--[a-z-]+)( [A-Za-z|]+)?( .*)?$/\1 \2\3/p' \
	    -e 's/^      (--[a-z-]+)( [A-Za-z|]+)?( .*)?$/- \1\2/p' |
		awk '{ print $1, $2, (NF > 2 ? "yes" : "no") }' | sort
}

options_of_man() {
	sed -n '/^\.Sh OPTIONS/,/^\.Sh STATUS/p' "$man" | awk '
	$1 == ".It" {
		short = "-"; long = ""; value = "no"
		for (i = 2; i <= NF; i++) {
			if ($i == "Fl" && $(i + 1) ~ /^-/)
				long = "-" $(i + 1)
			else if ($i == "Fl")
				short = "-" $(i + 1)
			else if ($i == "Ar" || $i == "Cm")
				value = "yes"
		}
		print short, long, value
	}' | sort
}

# bats test_tags=quick
@test "--help, the man page and the completions list the same options" {
	options_of_help >help
	[[ $(wc -l <help) -ge 20 ]]
	diff help <(options_of_man)
	diff help <(options_of_zsh)
	diff help <(options_of_fish)
	bash_complete redlock-run -
	diff <(awk '{ print $1 != "-" ? $1 "\n" $2 : $2 }' help | sort) \
	    <(sort reply)
}

@test "the program has the options that --help lists" {
	local short long value
	while read -r short long value; do
		if [[ $value == yes ]]; then
			run redlock "$long"
			[[ $output == *"'$long' needs a value"* ]]
			run redlock "$short"
			[[ $short == - || $output == *"'$short' needs a value"* ]]
		else
			run redlock "$long=x"
			[[ $output == *"takes no value"* ]]
			[[ $short == - ]] || run redlock "$short" -Z
			[[ $output != *"unknown option '$short'"* ]]
		fi
	done < <(options_of_help)
}

# bats test_tags=quick
@test "--help, the man page and exit.h list the same exit statuses" {
	sed -n '/^enum exitcode/,/^}/p' "$top/src/base/exit.h" |
		grep -oE '= [0-9]+' | grep -oE '[0-9]+' |
		grep -vx 1 | sort -n >header
	[[ $(wc -l <header) -eq 9 ]]
	diff header <(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh EXAMPLES/p' "$man" |
		sed -nE 's/^\.It ([0-9]+)$/\1/p' | sort -n)
	diff header <(redlock --help | tr '\n' ' ' |
		sed 's/.*Exit status: //' | grep -oE '\b[0-9]+\b' |
		grep -vx 1 | sort -n)
}

@test "--help, the man page and the program have the same environment variables" {
	grep -ohE '"(REDLOCK_[A-Z_]+|REDISCLI_AUTH)"' "$top/src/config/settings.c" |
		tr -d '"' | sort -u >source
	[[ -s source ]]
	sed -n '/^\.Sh ENVIRONMENT/,/^inherits/p' "$man" |
		sed -nE 's/^\.It Ev ([A-Z_]+)$/\1/p' | sort >listed
	diff source <(grep -v SSL listed)
	# OpenSSL's own are only in the man page.
	diff <(grep -ohE '\b(SSL_CERT_[A-Z]+|OPENSSL_CONF)\b' \
	    "$top"/src/config/servers.c "$top"/src/redis/tls.c | sort -u) \
	    <(grep SSL listed | sort)
	diff source <(redlock --help |
		grep -oE '\b(REDLOCK_[A-Z_]+|REDISCLI_AUTH)\b' | sort -u)
}

@test "the man page and the program have the same settings of a file" {
	sed -n '/^} keys/,/^};/p' "$top/src/config/settings.c" | tr -d '\n' |
		grep -oE '"[a-z-]+" \}' | tr -d '" }' | sort >source
	[[ $(wc -l <source) -ge 9 ]]
	diff source <(sed -n '/^\.Sh SETTINGS/,/^\.El/p' "$conf" |
		sed -nE 's/^\.It Cm (.*)$/\1/p' | sort)
}

@test "ENVIRONMENT has the variables that a command gets" {
	unset REDLOCK_RUN
	env -u REDLOCK_REDIS -u REDLOCK_CONFIG "$run_path" --config /dev/null \
	    -r "$REDLOCK_REDIS" -k k --slots 2 -- env |
		grep -oE '^REDLOCK_[A-Z_]+' | sort >found
	diff found <(sed -n "/^inherits/,/^\.Sh FILES/p" "$man" |
		sed -nE 's/^\.It Ev ([A-Z_]+)$/\1/p' | sort)
}

# Lines of "--long default", for defaults of one word.
defaults_of_man() {
	sed -n '/^\.Sh OPTIONS/,/^\.Sh STATUS/p' "$man" | awk '
	/^\.It/ { long = $0; sub(/.*Fl -/, "--", long); sub(/ .*/, "", long) }
	/^The default is/ {
		if (/is$/)
			getline
		sub(/^(The default is|\.Ql) /, "")
		sub(/(\\&)? ?\.$/, "")
		if (!/ /)
			print long, $0
	}'
}

@test "--help and the man page give the same defaults" {
	local long default
	# An option and its text on one line.
	redlock --help | awk '
	/^ +-/ { printf "\n%s", $0; next }
	/^                    / { printf " %s", $0; next }
	{ print "" }' >help
	defaults_of_man >defaults
	[[ $(wc -l <defaults) -ge 6 ]]
	while read -r long default; do
		grep -e " $long " help | grep -F "[default: $default]" ||
			{ echo "$long: $default" && false; }
	done <defaults
}

# Lines of "long description", except for descriptions that --help has longer.
words_of_help() {
	redlock --help | awk '
	/^ +-/ { printf "\n%s", $0; next }
	/^                    / { printf "%s", $0; next }
	{ print "" }' |
		sed -nE 's/^ +(-., )?--([a-z-]+)( [A-Za-z|]+)?  +(.*)$/\2 \4/p' |
		sed 's/ *\[default:.*//' | grep -vE '^(redis|config) ' | sort
}

@test "the completions describe options in the words of --help" {
	words_of_help >help
	[[ $(wc -l <help) -ge 20 ]]
	diff help <(sed -nE "s/^__redlock_run_option .*-l ([a-z-]+) .*-d '(.)(.*)'$/\\1 \\L\\2\\E\\3/p" \
	    "$top/completions/redlock-run.fish" |
		grep -vE '^(redis|config) ' | sort)
	diff help <(sed -nE "s/^\t'.*--([a-z-]+)=?\}?'?\[(.*)\].*/\\1 \\2/p" \
	    "$top/completions/_redlock-run" | sed 's/\\:/:/' |
		grep -vE '^(redis|config) ' | sort)
}

@test "--help is at most 90 lines of at most 80 characters" {
	redlock --help >help
	[[ $(wc -l <help) -le 90 ]]
	not grep -E '.{81}' help
}

@test "--help and the man page have the same synopsis" {
	diff <(redlock --help | sed '/^$/q' | sed -n 's/^\(usage:\|  *\) redlock-run/redlock-run/p' |
		tr '[:upper:]' '[:lower:]') \
	    <(mandoc -Tascii -Owidth=200 "$man" | sed 's/.\x08//g' |
		sed -n '/^SYNOPSIS/,/^$/p' | sed -n 's/^ *redlock-run/redlock-run/p' |
		sed 's/ \.\.\.\]/].../g')
}

@test "DIAGNOSTICS describes every message of the program, and no other" {
	local sources=("$top"/src/*.c "$top"/src/*/*.c)
	"$top/tests/messages" -m "$man" "${sources[@]}"
	# Nothing passes unseen.
	grep -v '^\.It .*stopping it$' "$man" >short.1
	run -1 "$top/tests/messages" -m short.1 "${sources[@]}"
	[[ $output == 'not described: '*'(--max-run); stopping it' ]]
	# Neither does a reason that becomes a value of a message.
	grep -v '^\.It its key is gone' "$man" >short.1
	run -1 "$top/tests/messages" -m short.1 "${sources[@]}"
	[[ $output == 'not described: its key is gone from '* ]]
	sed 's/^\.It .*stopping it$/&\n.It it stopped/' "$man" >long.1
	run -1 "$top/tests/messages" -m long.1 "${sources[@]}"
	[[ $output == 'not a message: it stopped' ]]
}

@test "mandoc -Tlint finds nothing in the manuals" {
	command -v mandoc
	mandoc -Tlint "$man" "$conf" "$protocol" >said 2>&1 || true
	# Which other manuals are installed here is not ours.
	run grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' said
	[[ $status -eq 1 && -z $output ]]
}

@test "make html links the manuals to each other, and every link has a target" {
	local page link file
	"$top/man/html" "$PWD" redlock-run.1 redlock-run.conf.5 redlock-run.7
	for page in *.html; do
		grep -oE 'href="[^"]*"' "$page" | cut -d '"' -f 2 | sort -u >links
		[[ $(grep -cE '^redlock-run[^#]*\.html$' links) -eq 3 ]]
		while read -r link; do
			[[ $link != https:* ]] || continue
			file=${link%%#*}
			[[ -e ${file:-$page} ]]
			[[ $link != *'#'* ]] ||
				grep -qF "id=\"${link#*#}\"" "${file:-$page}"
		done <links
		not grep 'manpages\.debian\.org/redlock' links
	done
	[[ -s manual.css && $(printf '%s\n' *.html | wc -l) -eq 3 ]]
}

## Examples in README.md and the manuals

# section WORD [FILE]: the section of a manual whose title begins with it.
section() {
	sed -n "/^\.Sh $1/,/^\.Sh /p" "${2:-$man}"
}

@test "README has at most 1300 words" {
	[[ $(wc -w <"$top/README.md") -le 1300 ]]
}

@test "README's status table has the columns of the program's" {
	redis set redlock:nightly somebody
	diff <(readme_block --status | grep '^LOCK' | tr -s ' ') \
	    <(redlock --status | sed -n 1p | tr -s ' ')
	# And the man page describes each.
	diff <(section STATUS |
		sed -nE 's/^\.It Sy ([A-Z]+) .*/\1/p') \
	    <(redlock --status -v | sed -n 1p | tr -s ' ' '\n')
}

@test "the picture has the headings and states of the program's tables" {
	local text
	redlock -k nightly -- true
	redlock -k nightly -- false || true
	redlock_bg -k encode --slots 3 -- sleep 1000
	eventually held encode
	text=$(sed -n "s/<[^>]*>//gp" "$top/man/redlock-run.svg" | tr -s ' ')
	grep -qxF "$(redlock --status | sed -n 1p | tr -s ' ')" <<<"$text"
	grep -qxF "$(redlock --history nightly | sed -n 1p | tr -s ' ')" <<<"$text"
	grep -qE '^nightly held deploy@web1 pid [0-9]+ backup.sh ' <<<"$text"
	grep -qE '^tables shared deploy@web2 ' <<<"$text"
	grep -qE '^encode 2/3 slots deploy@web1 ' <<<"$text"
	redlock --status encode | grep -qE '^encode +1/3 slots '
	# Failures stand out, successes do not.
	grep -qE "font-weight='bold'>1</tspan></text>" "$top/man/redlock-run.svg"
	not grep -qE '<tspan [^>]*(fill|weight)[^>]*>0</tspan></text>' "$top/man/redlock-run.svg"
	kill "$bg_pid"
	wait "$bg_pid" || true
}

@test "README's table of past runs has the columns of the program's" {
	redlock -k nightly -- true
	diff <(readme_block '$ redlock-run --history' | sed -n 2p | tr -s ' ') \
	    <(redlock --history -k nightly | sed -n 1p | tr -s ' ')
	diff <(section "RUN HISTORY" |
		sed -nE 's/^\.It Sy ([A-Z]+) .*/\1/p') \
	    <(redlock --history | sed -n 1p | tr -s ' ' '\n')
}

@test "redlock-run(7) names the members that --json has" {
	local member query
	redlock -k ended -- true
	redlock_bg -k k -- sleep 1000
	eventually redlock --status -k k
	for query in --status --history --check '--history ended --max-age=1h'; do
		# shellcheck disable=SC2086
		for member in $(redlock $query --json |
			grep -oE '"[a-z_]+":' | tr -d '":' | sort -u); do
			section JSON "$protocol" |
				awk -v query="$query" '
				BEGIN { sub(/.* /, "", query); sub(/=.*/, "", query) }
				/^\.Fl -/ { shown = ".Fl " substr(query, 2) == $0 }
				NR == 1 { shown = 1 }
				shown
				/^\.Pp/ { shown = 0 }' |
				grep -qE "(Cm|,) $member( |\$)" ||
				{ echo "$query: $member" && false; }
		done
	done
	kill "$bg_pid"
	wait "$bg_pid" || true
}

@test "redlock-run.conf(5) has the columns of --check" {
	diff <(section CHECKING "$conf" |
		sed -nE 's/^\.It Sy ([A-Z]+) .*/\1/p') \
	    <(redlock --check | sed -n 1p | tr -s ' ' '\n')
}

@test "README's make commands exist in the Makefile" {
	local goal
	sed -nE 's/^(    |.*`)make ([a-z ]*[a-z]).*/\2/p' "$top/README.md" |
		tr ' ' '\n' >goals
	grep -qx demo goals
	while read -r goal; do
		grep -qE "^$goal:" "$top/Makefile"
	done <goals
}

@test "make demo shows three hosts and a lost lock, ends by itself and cleans up" {
	TMPDIR=$PWD "$top/tests/demo" >out 2>&1 </dev/null 3>&-
	grep -q 'web1> backup.sh is done' out
	grep -q 'web1> (exit status 0)' out
	grep -qE 'web2> redlock-run: nightly: held by .* \(backup.sh\) for' out
	grep -q 'web2> (exit status 75' out
	grep -qE 'web3> redlock-run: nightly: waiting for .* \(backup.sh\)' out
	grep -qE '^ *nightly +held .* backup.sh .* 1$' out
	grep -q 'web3> upload.sh has its turn' out
	grep -q 'web3> (exit status 0)' out
	grep -qE '^ *nightly +free ' out
	# Redis freezes: the job is stopped, and the next one runs.
	grep -q 'web1> redlock-run: nightly: lock lost: ' out
	grep -q 'web1> backup.sh gets SIGTERM' out
	grep -q 'web1> (exit status 79' out
	grep -q 'web2> upload.sh has its turn' out
	grep -qE '^ *2.* web1 .* backup.sh .* lost$' out
	# Its first line and its last.
	[[ $(sed -n 1p out) == *'private Redis'*'pretended hosts'* ]]
	[[ $(tail -n 1 out) == 'Next, '*'redlock-run -r '* ]]
	not grep -q $'\e' out
	# The lease went up again at least once.
	awk '/^ *[0-9.]+ s =/ { if ($1 > last && last) up = 1; last = $1 }
	END { exit !up }' out
	run compgen -G 'redlock-demo*'
	[[ -z $output ]]
}

@test "make demo shows commands bold on a terminal" {
	script -qec "$top/tests/demo" /dev/null >out </dev/null
	grep -qF $'  \e[1mredlock-run --status\e[0m' out
}

@test "make demo cleans up when it is interrupted" {
	TMPDIR=$PWD env --default-signal=INT "$top/tests/demo" >out 2>&1 \
	    </dev/null 3>&- &
	eventually grep -q 'web3> redlock-run: nightly: waiting' out
	kill -INT "$!"
	local status=0
	wait "$!" || status=$?
	[[ $status -eq 130 ]]
	run compgen -G 'redlock-demo*'
	[[ -z $output ]]
}

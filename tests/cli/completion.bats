#!/usr/bin/env bats
#
# Completion in bash, zsh and fish.
# shellcheck disable=SC2154

# shellcheck disable=SC2088,SC2089,SC2090	# words are given as they are typed

load ../lib/common
load ../lib/complete

setup_file() {
	redis_start
	redis_start other
	redis_start third
	redis_at other mset redlock:elsewhere somebody redlock:everywhere somebody
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	mkdir bin
	# A machine that is slow is no fault of the completion.
	cat >bin/timeout <<-END
		#!/bin/bash
		exec $(type -P timeout) 20 "\${@:2}"
	END
	cat >bin/redlock-run <<-END
		#!/bin/bash
		exec $REDLOCK_RUN "\${@/#0.4/4}"
	END
	chmod +x bin/timeout bin/redlock-run
	PATH=$PWD/bin:$PATH
	redis_reset
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# in_haste: the completion has no more time than its users give it.
in_haste() {
	rm bin/timeout
	ln -sf "$REDLOCK_RUN" bin/redlock-run
}

# lock_taken NAME: a run holds that lock until the test ends.
lock_taken() {
	redis set "redlock:$1" somebody
}

@test "bash completes options, and the values of options" {
	bash_complete redlock-run --on
	[[ $(<reply) == $'--once-per\n--on-loss\n--only-command' ]]
	bash_complete redlock-run --on-loss w
	[[ $(<reply) == warn ]]
	bash_complete redlock-run -nqw ''
	[[ $(<reply) == inf ]]
	bash_complete redlock-run --slots ''
	[[ -z $(<reply) ]]
	bash_complete redlock-run -t ''
	[[ -z $(<reply) ]]
	bash_complete redlock-run --break -k k --token ''
	[[ -z $(<reply) ]]
	bash_complete redlock-run --log = s
	[[ $(<reply) == $'stderr\nsyslog' ]]
	touch secret-file
	bash_complete redlock-run --password-file secr
	[[ $(<reply) == secret-file ]]
	bash_complete redlock-run --config secr
	[[ $(<reply) == secret-file ]]
}

@test "bash completes -k from the locks that exist" {
	lock_taken nightly
	lock_taken 'night shift'
	lock_taken app:one
	# shellcheck disable=SC2016
	lock_taken 'mean"$(touch hurt)'
	bash_complete redlock-run -k ni
	[[ $(<reply) == $'night\\ shift\nnightly' ]]
	bash_complete redlock-run --key = nightl
	[[ $(<reply) == nightly ]]
	bash_complete redlock-run -qk ''
	[[ $(wc -l <reply) -eq 3 ]]
	# After a colon bash replaces only the text behind it.
	bash_complete redlock-run -k app : o
	[[ $(<reply) == one ]]
	[[ ! -e hurt ]]
}

@test "bash, zsh and fish complete the name after --history from past runs and skips, too" {
	lock_taken now
	redlock -k past -- true
	run -75 redlock -k now -- true
	redis del '{redlock:past}:~fence'
	bash_complete redlock-run --history ''
	[[ $(<reply) == $'now\npast' ]]
	bash_complete redlock-run --history -k pa
	[[ $(<reply) == past ]]
	bash_complete redlock-run --status ''
	[[ $(<reply) == now ]]
	redis del redlock:now
	bash_complete redlock-run --history ''
	[[ $(<reply) == $'now\npast' ]]
	! command -v zsh || zsh_complete 'redlock-run --history ' 'now *past'
	command -v fish || return 0
	fish_complete 'redlock-run --history '
	[[ $(cut -f 1 reply | sort -u | xargs) == 'now past' ]]
	fish_complete 'redlock-run --status '
	[[ -z $(<reply) ]]
}

@test "bash completes -k from the server that the line names" {
	lock_taken here
	bash_complete redlock-run -r unix : //"$BATS_FILE_TMPDIR"/other.sock -k ''
	[[ $(sort reply) == $'elsewhere\neverywhere' ]]
}

@test "bash passes on to the command's own completion" {
	BASH_COMPLETION=/usr/share/bash-completion/bash_completion
	[[ -e $BASH_COMPLETION ]] || BASH_COMPLETION=''
	export BASH_COMPLETION
	mkdir sub
	touch sub/file-of-mine
	printf '#!/bin/sh\n' >bin/redlock-test-command
	chmod +x bin/redlock-test-command
	local how
	for how in '-k k' '-qk k --' '--key = k -t 5 -r unix : ///s --' \
	    '--slots 3 -qw inf -k k' '-sk k' '--log = stderr -k k --'; do
		# shellcheck disable=SC2086
		bash_complete redlock-run $how redlock-test-c
		[[ $(sort -u reply) == redlock-test-command ]]
		# shellcheck disable=SC2086
		bash_complete redlock-run $how cat sub/fi
		[[ $(<reply) == sub/file-of-mine ]]
	done
	BASH_COMPLETION=''
	bash_complete redlock-run -k k -- redlock-test-c
	[[ $(sort -u reply) == redlock-test-command ]]
	bash_complete redlock-run -k k cat sub/fi
	[[ $(<reply) == sub/file-of-mine ]]
}

@test "completion is silent and quick when no server answers" {
	local since took best=10000000
	in_haste
	# The program itself would wait for a minute.
	export REDLOCK_NODE_TIMEOUT=1m
	redis_freeze
	for _ in 1 2 3; do
		since=$(now_us)
		bash_complete redlock-run -k '' 2>>said
		took=$(($(now_us) - since))
		((took >= best)) || best=$took
	done
	((best < 5000000))
	redis_stop
	bash_complete redlock-run -k '' 2>>said
	[[ -z $(cat reply said) ]]
}

@test "completion is silent in zsh and fish as well" {
	in_haste
	redis_stop
	typed zsh <<-'END'
		see @@
		press exec 2>said
		press ^M
		see @@
		press redlock-run -k k
		press ^I
		press ^A
		press echo line=
		press ^M
		see line=redlock-run -k k\s
		check test ! -s said
	END
	needs fish
	fish_complete 'redlock-run -k ' 2>>said
	[[ -z $(cat reply said) ]]
}

@test "bash completes -k from all servers that the line names" {
	lock_taken here
	bash_complete redlock-run -r unix : //"$BATS_FILE_TMPDIR"/redis.sock \
	    --restart-grace 5s -t 3s \
	    -r unix : //"$BATS_FILE_TMPDIR"/other.sock -k ''
	[[ $(sort reply) == $'elsewhere\neverywhere\nhere' ]]
	# One of three is silent.
	redis_freeze
	bash_complete redlock-run -r unix : //"$BATS_FILE_TMPDIR"/redis.sock \
	    -r unix : //"$BATS_FILE_TMPDIR"/third.sock \
	    -r unix : //"$BATS_FILE_TMPDIR"/other.sock -k ''
	[[ $(sort reply) == $'elsewhere\neverywhere' ]]
}

@test "bash completes -k from the server that the line names, however it is written" {
	local url=unix://$BATS_FILE_TMPDIR/other.sock how
	lock_taken here
	for how in "-runix : //${url#unix://}" "-qrunix : //${url#unix://}" \
	    "--redis = unix : //${url#unix://}" "-r '$url'" "--redis = \"$url\"" \
	    "-q -r \"$url\""; do
		# shellcheck disable=SC2086
		bash_complete redlock-run $how -k ''
		[[ $(sort reply) == $'elsewhere\neverywhere' ]]
	done
	redis_at other acl setuser default "~app.*" "~{app.*"
	redis_at other set app.one somebody
	redis_at other acl setuser default '~app.*' '~{app.*'
	bash_complete redlock-run -r "'$url'" --prefix = app. -k ''
	[[ $(<reply) == one ]]
	redis_at other del app.one
	(umask 077 && echo secret >secret-file)
	redis acl setuser default '>secret'
	for how in "$PWD/secret-file" '~/secret-file' "'$PWD/secret-file'"; do
		HOME=$PWD bash_complete redlock-run --password-file "$how" -k ''
		[[ $(<reply) == here ]]
	done
	# Only the shell can expand this word.
	redis acl setuser default nopass
	# shellcheck disable=SC2016
	for how in '$(touch hurt)' '"$(touch hurt)"' '`touch hurt`' '$url'; do
		bash_complete redlock-run -r "$how" -k ''
		[[ -z $(<reply) && ! -e hurt ]]
	done
}

# watched: from now on the arguments of timeout and redlock-run are in args.
watched() {
	local name
	for name in timeout redlock-run; do
		mv "bin/$name" "bin/real-$name"
		printf '#!/bin/bash\necho "%s $*" >>%q\nexec %q "$@"\n' \
		    "$name" "$PWD/args" "$PWD/bin/real-$name" >"bin/$name"
		chmod +x "bin/$name"
	done
}

# unseen: they were called, and have not shown the password.
unseen() {
	cat args
	grep -q '^timeout 0.5 redlock-run ' args
	grep -q '^redlock-run ' args
	not grep -qE '^(timeout 0.5|redlock-run) .*s3cret' args
	rm args
}

@test "completion puts no password of the line into the arguments of a process" {
	local how url
	redis_start_tcp secret
	redis_at secret set redlock:hidden somebody
	redis_at secret acl setuser default resetpass '>s3cret'
	# shellcheck disable=SC2154
	url=redis://:s3cret@127.0.0.1:$redis_port
	watched
	for how in '-r redis : //' '-rredis : //' '--redis = redis : //' \
	    '-qr redis : //'; do
		# shellcheck disable=SC2086
		bash_complete redlock-run $how : s3cret @ 127.0.0.1 : \
		    "$redis_port" -k h
		[[ $(<reply) == hidden ]]
		unseen
	done
	if command -v zsh; then
		for how in "-r $url" "-r$url" "--redis=$url"; do
			zsh_complete "redlock-run $how -k " hidden
			unseen
		done
	fi
	if command -v fish; then
		for how in "-r $url" "-r$url" "--redis=$url" "-qr $url"; do
			fish_complete "redlock-run $how -k h"
			[[ $(cut -f 1 reply) == hidden ]]
			unseen
		done
	fi
	redis_kill secret
}

@test "bash completes names of locks after a query option, and no command" {
	local how
	for how in '--status' '--history -k k' '--break -k k' '--check' \
	    '-v --status --' '--status x'; do
		# shellcheck disable=SC2086
		bash_complete redlock-run $how ca
		[[ -z $(<reply) ]]
	done
	lock_taken nightly
	for how in '--status' '--history x -q' '--break' '-v --status --'; do
		# shellcheck disable=SC2086
		bash_complete redlock-run $how ni
		[[ $(<reply) == nightly ]]
	done
	bash_complete redlock-run --check ni
	[[ -z $(<reply) ]]
	bash_complete redlock-run --status x --js
	[[ $(<reply) == --json ]]
	bash_complete redlock-run --history -k ni
	[[ $(<reply) == nightly ]]
	bash_complete redlock-run --break --tok
	[[ $(<reply) == --token ]]
	# These words are the command's.
	bash_complete redlock-run -k k cat --status -- completion.ba
	[[ -z $(<reply) ]]
	touch mine
	bash_complete redlock-run -k k cat --status -- min
	[[ $(<reply) == mine ]]
}

@test "zsh completes options, locks, and the command's own words" {
	needs zsh
	lock_taken nightly
	lock_taken 'night shift'
	zsh_complete 'redlock-run --on' '--on-loss *what to do*--once-per*--only-command'
	zsh_complete 'redlock-run --on-loss ' 'stop *warn'
	zsh_complete 'redlock-run -qk ni' 'night\\ shift *nightly'
	zsh_complete "redlock-run -r unix://$BATS_FILE_TMPDIR/other.sock -k e" \
	    'elsewhere *everywhere'
	zsh_complete "redlock-run -r unix://$BATS_FILE_TMPDIR/other.sock --redis=unix://$BATS_FILE_TMPDIR/redis.sock -k " \
	    'elsewhere *everywhere *night\\ shift *nightly'
	zsh_complete "redlock-run -r unix://$BATS_FILE_TMPDIR/other.sock -r unix://$BATS_FILE_TMPDIR/redis.sock -k " \
	    'elsewhere *everywhere *night\\ shift *nightly'
	zsh_complete 'redlock-run --s' '--slots *let up to N runs'
	zsh_complete 'redlock-run -sk ni' 'night\\ shift *nightly'
	touch file-of-mine file-of-yours
	zsh_complete "redlock-run --slots 3 -qw 5 -k k cat $PWD/file" \
	    'file-of-mine *file-of-yours'
	zsh_complete "redlock-run -k k -- cat $PWD/file" \
	    'file-of-mine *file-of-yours'
	zsh_complete "redlock-run -k k cat $PWD/file" \
	    'file-of-mine *file-of-yours'
	zsh_complete "redlock-run -runix://$BATS_FILE_TMPDIR/other.sock -k e" \
	    'elsewhere *everywhere'
	zsh_complete 'redlock-run --log ' 'stderr *syslog'
	zsh_complete 'redlock-run --history -k ni' 'night\\ shift *nightly'
}

@test "fish completes options, locks, and the command's own words" {
	local how
	needs fish
	lock_taken nightly
	lock_taken 'night shift'
	fish_complete 'redlock-run --on'
	# fish 4 offers more, with that somewhere inside
	[[ $(grep -o '^--on[^[:space:]]*' reply | sort) == \
	    $'--on-loss\n--once-per\n--only-command' ]]
	fish_complete 'redlock-run --on-loss '
	[[ $(cut -f 1 reply | sort) == $'stop\nwarn' ]]
	fish_complete 'redlock-run -k ni'
	[[ $(cut -f 1 reply | sort) == $'night shift\nnightly' ]]
	fish_complete "redlock-run -r unix://$BATS_FILE_TMPDIR/other.sock -k e"
	[[ $(cut -f 1 reply | sort) == $'elsewhere\neverywhere' ]]
	fish_complete "redlock-run -r unix://$BATS_FILE_TMPDIR/other.sock -r unix://$BATS_FILE_TMPDIR/redis.sock -k e"
	[[ $(cut -f 1 reply | sort) == $'elsewhere\neverywhere' ]]
	fish_complete 'redlock-run --restart-grace 5s -k k -- redlock-test-command --i'
	[[ $(cut -f 1 reply) == --its-own ]]
	fish_complete 'redlock-run -k k -- redlock-test-command --i'
	[[ $(cut -f 1 reply) == --its-own ]]
	fish_complete 'redlock-run --slots 3 -qw 5 -k k redlock-test-command --i'
	[[ $(cut -f 1 reply) == --its-own ]]
	fish_complete 'redlock-run -sk k redlock-test-command --i'
	[[ $(cut -f 1 reply) == --its-own ]]
	fish_complete 'redlock-run -qk k redlock-test-command "a b" --i'
	[[ $(cut -f 1 reply) == --its-own ]]
	fish_complete 'redlock-run -k k redlock-test-command --status --i'
	[[ $(cut -f 1 reply) == --its-own ]]
	for how in -qr --redis= -r; do
		fish_complete "redlock-run ${how}unix://$BATS_FILE_TMPDIR/other.sock -k e"
		[[ $(cut -f 1 reply | sort) == $'elsewhere\neverywhere' ]]
	done
	fish_complete 'redlock-run --log '
	[[ $(cut -f 1 reply | sort) == $'stderr\nsyslog' ]]
	for how in --status '--history -k k' '--break -k k' --check '--status --'; do
		fish_complete "redlock-run $how redlock-test-c"
		[[ -z $(<reply) ]]
		fish_complete "redlock-run $how redlock-test-command --its"
		[[ -z $(<reply) ]]
	done
	lock_taken redlock-test-lock
	for how in --status '--history x -q' --break '--status --'; do
		fish_complete "redlock-run $how redlock-test-"
		[[ $(cut -f 1 reply) == redlock-test-lock ]]
	done
	fish_complete 'redlock-run --check redlock-test-'
	[[ -z $(<reply) ]]
	fish_complete 'redlock-run --break --token '
	[[ -z $(<reply) ]]
	fish_complete 'redlock-run --break --tok'
	[[ $(cut -f 1 reply) == --token ]]
}

# At a terminal, shell by shell: the steps that make it ready.
ready_bash() {
	echo "type . $top/completions/redlock-run.bash"
}

ready_zsh() {
	cat <<-END
		type exec zsh -f -i
		see @@
		type fpath=($top/completions \$fpath); autoload -U compinit
		see @@
		type compinit -u -D; setopt no_beep no_auto_menu; echo rea""dy
		see ready
	END
}

ready_fish() {
	cat <<-END
		type exec fish --no-config -i
		press function fish_prompt; echo '@@ '; end
		press ^M
		see @@
		press . $top/completions/redlock-run.fish; echo rea""dy
		press ^M
		see ready
	END
}

# typed SHELL: a person types the steps on standard input.
typed() {
	needs "$1"
	{ "ready_$1" && cat; } >steps
	mkdir -m 700 runtime
	XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD XDG_RUNTIME_DIR=$PWD/runtime \
	    "$top/tests/helpers/pty" <steps 3>&- 4>&-
}

# shellcheck disable=SC2016
odd='odd $(touch hurt);*&'

# odd_name SHELL: such a name is a word like any other.
odd_name() {
	lock_taken "$odd"
	typed "$1" <<-'END'
		see @@
		press redlock-run --status --json -k od
		press ^I
		press  >shown
		press ^M
		until grep -qF '"name":"odd $(touch hurt);*&"' shown
		check test ! -e hurt
	END
}

@test "bash completes a lock's name that contains all shell metacharacters" {
	odd_name bash
}

@test "zsh completes a lock's name that contains all shell metacharacters" {
	odd_name zsh
}

@test "fish completes a lock's name that contains all shell metacharacters" {
	odd_name fish
}

@test "zsh completes names of locks after a query option, and no command" {
	lock_taken nightly
	printf '#!/bin/sh\n' >bin/redlock-test-command
	chmod +x bin/redlock-test-command
	typed zsh <<-'END'
		see @@
		press redlock-run -k k redlock-test-c
		press ^I
		see redlock-test-command
		press ^U
		press redlock-run --status redlock-test-c
		press ^I
		press ^A
		press echo line=
		press ^M
		see line=redlock-run --status redlock-test-c\s
		press redlock-run --status nigh
		press ^I
		see --status nightly
		press x nigh
		press ^I
		see x nightly
		press ^U
	END
}

#!/usr/bin/env bats
# bats file_tags=long
#
# Tools that run another command, as COMMAND.  What a tool makes of its command's
# end is not written here: it is seen with the tool alone.  What a daemon of the
# tool has runs on, as the manual says.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start
	helpers_install how witness
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	# Some tools run it as another user, and with a PATH of their own.
	chmod a+rwx .
	job=$PWD/job
	witness=$BATS_FILE_TMPDIR/bin/witness
	export HOME=$PWD
}

teardown() {
	# A tool may give it another environment.
	pkill -KILL -f "^$witness $BATS_TEST_TMPDIR/" || true
	nothing_left
}

teardown_file() {
	redis_stop_all
}

## A run

# job_is SCRIPT: what the tool starts.
job_is() {
	rm -f "$job"
	printf '#!/bin/sh\n: >"%s/ran"\n%s\n' "$PWD" "$1" >"$job"
	chmod a+x "$job"
}

# start [WORD...]: the tool, after these words, at a terminal if it needs one;
# the pid is in $us.
start() {
	# as a shell starts it: the leader of its group, or in the foreground
	local how=(how -p us setsid)
	rm -f us ran
	[[ -z $terminal ]] || how=(how -t -p us)
	begin "${how[@]}" "$@" "${tool[@]}"
	eventually test -s us
	us=$(<us)
}

# ending: how it ended, once it has.
ending() {
	eventually grep -qE '^(exit|signal) ' "$out"
	tail -n 1 "$out"
	leave_terminal
}

leave_terminal() {
	[[ -z $terminal ]] || kill -KILL "$pid"
	eventually gone "$pid"
}

# ended_as PATTERN
ended_as() {
	local got
	got=$(ending)
	# shellcheck disable=SC2053
	if [[ $got != $1 ]]; then
		echo "$got instead of $1:" >&2
		cat "$err" >&2
		return 1
	fi
}

# family: KIND PID NAME of each process of the run: "command" of COMMAND and what
# descends from it, "daemon" of the tool's daemon and what descends from that.
family() {
	ps -eo pid=,ppid=,comm= | awk -v us="$us" -v daemon="${daemon:-none}" '
		function kind(pid, above) {
			if (!(pid in parent) || name[pid] ~ /^redlock-guard/)
				return ""
			if (parent[pid] == us)
				above = "command"
			else
				above = kind(parent[pid])
			return above != "" && name[pid] ~ daemon ? "daemon" : above
		}
		{ parent[$1] = $2; name[$1] = $3 " " $4 }
		END { for (pid in parent) print kind(pid), pid, name[pid] }' |
		grep -v '^ '
}

# witnesses_start ARG...: redlock-run with these; $members are the processes of
# COMMAND, $daemons those that a daemon of the tool has, $watching the witnesses.
witnesses_start() {
	job_is "$witness $PWD/far & exec $witness $PWD/near"
	rm -f near far
	start redlock-run -k a "$@" --
	eventually witness_ready near
	eventually witness_ready far
	eventually pgrep -P "$us" -x redlock-guard
	family >relatives
	mapfile -t members < <(awk '$1 == "command" { print $2 }' relatives)
	mapfile -t daemons < <(awk '$1 == "daemon" { print $2 }' relatives)
	mapfile -t watching < <(awk '$3 == "witness" { print $2 }' relatives)
	((${#watching[@]} == 2 && ${#members[@]} > 0))
}

# lock_lost: the key is gone, and the run notices at once: a connection that was
# closed is opened again, with a renewal.
lock_lost() {
	redis del redlock:a
	redis client kill type normal skipme yes
}

# from_us LOG: how many SIGTERM its witness got from redlock-run, which a namespace
# of processes shows as 0.
from_us() {
	awk -v us="$us" '$1 == 15 && ($3 == us || $3 == 0)' "$1" | wc -l
}

# one_term: each of the witnesses gets a SIGTERM, and not two from redlock-run; a
# tool may send more.
one_term() {
	local log
	for log in near far; do
		eventually terminated_or_dead "$log"
		witness_has_got "$log" TERM
	done
	kill -KILL "${watching[@]}" || true	# some tools kill it after a while
	eventually all_gone "${members[@]}"
	for log in near far; do
		(($(from_us "$log") <= 1))
	done
}

terminated_or_dead() {
	witness_has_got "$1" TERM || all_gone "${watching[@]}"
}

# over ENDING: that is how the run ended; what a daemon of the tool has is over, too.
over() {
	ended_as "$1"
	((${#daemons[@]} == 0)) || kill -KILL "${daemons[@]}" || true
	eventually all_gone "${daemons[@]}"
}

# in_our_group PID: it is in the group that gets the signals for redlock-run.
in_our_group() {
	[[ $(process_parent "$(process_group "$1")") == "$us" ]]
}

## What is true of each tool

# as_alone SCRIPT: with SCRIPT as its command the tool ends as without redlock-run.
as_alone() {
	local expected
	job_is "$1"
	start
	expected=$(ending)
	test -e ran
	start redlock-run -k a --
	ended_as "$expected"
	test -e ran
	free
}

one_term_passed_on() {
	witnesses_start
	if in_our_group "${watching[0]}"; then
		kill -TERM "$us"
		one_term
	else
		kill -KILL "${watching[@]}"
	fi
	over '*'
}

one_term_at_a_loss() {
	witnesses_start -t 60s --kill-after 30s
	lock_lost
	if [[ " ${daemons[*]} " == *" ${watching[0]} "* ]]; then
		eventually grep -qx 'exit 79' "$out"
		(($(from_us near) + $(from_us far) == 0))
	else
		one_term
	fi
	over 'exit 79'
}

nothing_left_after_a_loss() {
	witnesses_start -t 60s --kill-after 0.2s
	lock_lost
	eventually grep -qx 'exit 79' "$out"
	all_gone "${members[@]}"
	none_gone "${daemons[@]}"
	over 'exit 79'
}

nothing_left_after_a_kill() {
	witnesses_start
	kill -KILL "$us"
	eventually all_gone "${members[@]}"
	over 'signal 9'
}

# wraps [terminal] [daemon REGEX] TOOL...: all of that.
wraps() {
	terminal='' daemon=''
	if [[ $1 == terminal ]]; then
		terminal=yes
		shift
	fi
	if [[ $1 == daemon ]]; then
		daemon=$2
		shift 2
	fi
	tool=("$@")
	as_alone 'exit 7'
	as_alone 'kill -TERM $$; exit 9'
	one_term_passed_on
	one_term_at_a_loss
	nothing_left_after_a_loss
	nothing_left_after_a_kill
}

## The tools

# as_sudoers LINE...: the words that come before sudo, with these lines for it.
as_sudoers() {
	needs sudo
	needs_root
	unshare -m true || skip "needs mount namespaces"
	printf '%s\n' "$@" 'Defaults !syslog' 'root ALL=(ALL:ALL) NOPASSWD: ALL' \
	    >sudoers
	chmod 440 sudoers
	sudo=(unshare -m sh -c 'mount --bind "$0" /etc/sudoers && exec "$@"'
	    "$PWD/sudoers" sudo -n)
}

needs_bwrap() {
	needs bwrap bubblewrap
	bwrap --dev-bind / / --unshare-pid true || skip "needs namespaces for bwrap"
}

@test "sudo as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	as_sudoers 'Defaults !use_pty'
	wraps "${sudo[@]}" "$job"
}

@test "sudo with use_pty at a terminal, as COMMAND, ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	as_sudoers 'Defaults use_pty'
	wraps terminal "${sudo[@]}" "$job"
}

@test "su as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs_root
	wraps su nobody -s /bin/sh -c "$job"
}

@test "runuser as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs_root
	wraps runuser -u nobody "$job"
}

@test "setpriv as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs_root
	wraps setpriv --reuid=nobody --clear-groups "$job"
}

@test "unshare --pid --fork as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs_root
	unshare --pid --fork true || skip "needs pid namespaces"
	wraps unshare --pid --fork "$job"
}

@test "bwrap as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs_bwrap
	wraps bwrap --dev-bind / / "$job"
}

@test "bwrap --unshare-pid as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs_bwrap
	wraps bwrap --dev-bind / / --unshare-pid "$job"
}

@test "script -e as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs script bsdutils
	wraps script -qec "$job" /dev/null
}

@test "setsid -w as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	wraps setsid -w "$job"
}

@test "timeout as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	wraps timeout 1000 "$job"
}

@test "flock as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	wraps flock lock "$job"
}

@test "nohup as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	wraps nohup "$job"
}

@test "parallel as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs env_parallel parallel	# moreutils has another one
	wraps parallel --halt now,fail=1 "$job {#}" ::: 1
}

@test "xargs -P as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	wraps xargs -P 2 "$job"
}

@test "make -j2 as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	printf 'all: one two\none:\n\t@%s\ntwo:\n\t@:\n' "$job" >Makefile
	wraps make -j2
}

@test "strace -f as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs strace
	strace -o /dev/null true || skip "needs ptrace"
	wraps strace -f -o trace "$job"
}

@test "fakeroot as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs fakeroot
	wraps daemon ^faked fakeroot "$job"
}

@test "chpst as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs chpst runit
	needs_root
	wraps chpst -u nobody "$job"
}

@test "s6-setuidgid as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs s6-setuidgid s6
	needs_root
	wraps s6-setuidgid nobody "$job"
}

@test "dumb-init as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs dumb-init
	wraps dumb-init "$job"
}

@test "tmux as COMMAND ends as alone, gets one SIGTERM, and leaves nothing after a loss or kill -9" {
	needs tmux
	wraps terminal daemon '^tmux: server' env TERM=vt100 \
	    tmux -S "$PWD/socket" -f /dev/null new-session "$job"
}

#!/usr/bin/env bats
# The examples of the manual for object stores, Kubernetes and files, with stand-ins
# for aws and kubectl that refuse a write as those do.
# shellcheck disable=SC2016

load ../lib/common
load ../lib/fence

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir bin
	PATH=$PWD/bin:$PATH
	printf '#!/bin/bash\n%s\n' "$stand_in" | tee bin/aws >bin/kubectl
	chmod +x bin/*
}

teardown() { nothing_left; }

# A store has one object, in the file stored; its version is a checksum.  Between
# the reading and the writing of a run, ./meanwhile is executed once.
stand_in='
version=$(sha256sum ../stored)
version=${version%% *}
case $* in
"s3api get-object "*" old --query ETag "*)
	cp ../stored old
	echo "$version"
	;;
"s3api put-object "*" --body new --if-match $version")
	cp new ../stored
	;;
"get configmap "*)
	sed -n "s/.*\"fence\": \"\([0-9]*\)\".*/$version \1/p" ../stored
	;;
"patch configmap "*"\"resourceVersion\": \"$version\""*)
	echo "${*: -1}" >../stored
	;;
*)
	echo "Conflict: $*" >&2
	exit 1
	;;
esac
cd ..
[[ ! -e meanwhile ]] || { mv meanwhile now && bash now; }'

# store FENCE BODY: the example of the manual, as that run, in a directory of its own.
store() {
	mkdir -p "run-$1"
	echo "$2" >"run-$1/report"
	(cd "run-$1" && REDLOCK_FENCE=$1 sh -c "$(sed "s/done/$2/" ../script)")
}

# fenced START: the store has START at first, and refuses stale writes.
fenced() {
	echo "$1" >stored
	store 5 first
	store 5 again
	grep again stored
	not store 4 late
	store 7 later
	not store 5 late
	grep later stored
	# One that has read before a later holder writes.
	declare -f store >meanwhile
	echo 'store 9 newest' >>meanwhile
	not store 8 late
	grep newest stored
	not grep late stored
}

@test "object store example: a write is refused once a later holder has written" {
	readme_block 's3api put-object' >script
	fenced 0
}

@test "object store example: the same contents of a later holder count, too" {
	readme_block 's3api put-object' >script
	echo 0 >stored
	store 5 same
	declare -f store >meanwhile
	echo 'store 9 same' >>meanwhile
	not store 8 late
	[[ $(<stored) == $'9\nsame' ]]
}

@test "Kubernetes example: a write is refused once a later holder has written" {
	readme_block 'kubectl patch' >script
	fenced '{"annotations": {"fence": "0"}}'
	/usr/bin/python3 -m json.tool stored
}

@test "files example: readers take the release of the latest holder" {
	local fence
	readme_block 'release-$REDLOCK_FENCE' >script
	readme_block 'release-*' >reader
	for fence in 9 1764000000000007 11 1764000000000005; do
		echo "$fence" >report
		REDLOCK_FENCE=$fence sh script
	done
	[[ $(sh reader) == 1764000000000007 ]]
}

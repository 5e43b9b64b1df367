#!/usr/bin/env bats
#
# Which sources the static file is made of: make static-sums, and a release, where
# stubs stand in for apt-get and make.
# shellcheck disable=SC2016,SC2154

load ../lib/common

setup() {
	local package
	[[ -e $top/.static ]] || skip "needs a git checkout or a tarball"
	command -v dpkg >/dev/null || skip "needs dpkg"
	mkdir "$BATS_TEST_TMPDIR/tree"
	cd "$BATS_TEST_TMPDIR/tree" || return
	cp -R "$top/.static" .
	mkdir -p bin debian
	for package in musl hiredis util-linux openssl; do
		has "$package" 2.0-1~deb13u1
		recorded "$package" 2.0-1~deb13u1
	done >.static/sums
	stub apt-get '
		for word; do version=$word; done
		case " $* " in
		*" update "*)
			[ ! -e debian/unread ] || cat debian/unread
			[ ! -e debian/unread ] ;;
		*)
			file=${version%%=*}_${version#*=}
			set -- ../../debian/"$file".*
			[ -e "$1" ] && cp "$@" . || {
				echo "E: Failed to fetch http://deb/$file.dsc  404  Not Found"
				exit 100
			} ;;
		esac'
	stub apt-cache '
		for word; do package=$word; done
		sed -n "s/^$package /Version: /p" debian/lists'
	export PATH=$PWD/bin:$PATH
}

# stub NAME LINES
stub() {
	printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
	chmod +x "bin/$1"
}

# has PACKAGE VERSION: Debian lists it, and has its files.
has() {
	local name=debian/$1_$2
	echo "$1 $2" >>debian/lists
	echo "$1 $2" >"$name.tar.xz"
	printf '%s\n' "Source: $1" 'Checksums-Sha256:' \
	    " $(sha256sum <"$name.tar.xz" | cut -c -64) 20 $1_$2.tar.xz" \
	    'Files:' >"$name.dsc"
}

# recorded PACKAGE VERSION: its entry in .static/sums.
recorded() {
	echo "# $1=$2"
	(cd debian && sha256sum "$1_$2.dsc" "$1_$2.tar.xz")
	echo
}

@test "make static-sums records the newest version and its sums" {
	has openssl 2.0-1~deb13u2
	has openssl 2.0-1~deb13u10
	run -0 .static/build --sums
	diff .static/sums <(for package in musl hiredis util-linux; do
		recorded "$package" 2.0-1~deb13u1
	done && recorded openssl 2.0-1~deb13u10)
	run -0 .static/build --outdated
	[[ -z $output ]]
}

@test "make static-sums changes nothing and names the list if one cannot be read" {
	cp .static/sums before
	has openssl 2.0-1~deb13u2
	echo 'E: Failed to fetch http://deb/InRelease  Connection failed' \
	    >debian/unread
	run -75 .static/build --sums
	[[ $output == *"http://deb/InRelease  Connection failed"* ]]
	[[ ${lines[-1]} == *": Debian's lists cannot be read" ]]
	cmp before .static/sums
}

@test "make static-sums names a newer file that it cannot read, and ends with 75" {
	has openssl 2.0-1~deb13u2
	has openssl 2.0-1~deb13u3
	cp .static/sums before
	rm debian/openssl_2.0-1~deb13u[23].*
	run -75 .static/build --sums
	[[ $output == *"http://deb/openssl_2.0-1~deb13u3.dsc  404  Not Found"* ]]
	[[ ${lines[-1]} == *": openssl is recorded as 2.0-1~deb13u1" ]]
	cmp before .static/sums
}

@test "make static-sums records no version older than the recorded one" {
	cp .static/sums before
	sed -i '/^openssl /d' debian/lists
	rm debian/openssl_*
	has openssl 1.9-1
	run -75 .static/build --sums
	[[ ${lines[-1]} == *": openssl is recorded as 2.0-1~deb13u1" ]]
	cmp before .static/sums
}

@test "sums that are out of date give one line with both versions" {
	has openssl 2.0-1~deb13u2
	has openssl 2.0-1~deb13u3
	cp .static/sums before
	run -75 .static/build --outdated
	((${#lines[@]} == 1))
	[[ $output == *" out of date;"*": openssl 2.0-1~deb13u1 (Debian has 2.0-1~deb13u3)" ]]
	cmp before .static/sums
}

# release: what it writes is in $output.
release() {
	git init -q .
	git add .static
	git -c user.name=a -c user.email=a@example.com commit -qm a
	run .static/release 1.0
}

@test "no release is made while Debian has newer sources" {
	has openssl 2.0-1~deb13u2
	stub make 'exit 0'
	release
	((status == 1))
	[[ ${lines[-1]} == *"commit .static/sums first."* ]]
	[[ ! -e build/release ]]
}

@test "no release is made while a newer source is not to be had" {
	has openssl 2.0-1~deb13u2
	rm debian/openssl_2.0-1~deb13u2.*
	stub make 'exit 0'
	release
	((status == 75))
	[[ ! -e build/release ]]
}

@test "no release is left where the static file cannot be made" {
	stub make 'case $* in *" static "*) exit 2 ;; esac'
	release
	((status == 2))
	[[ ! -e build/release && ! -e build/release.work ]]
}

#!/usr/bin/env bats
#
# The Makefile: building, installing, and missing packages.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load ../lib/common

# A tree of our own, built once, so that other builds are not disturbed.
setup_file() {
	export tree=$BATS_FILE_TMPDIR/tree
	mkdir "$tree"
	cp -R "$top"/{Makefile,README.md,LICENSE,src,man,completions} "$tree"
	build "$tree" all
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

# build DIRECTORY GOAL...: make, as from a shell of its own, but with CFLAGS
# that take half the time.
build() {
	build_alone CFLAGS=-O0 make --no-print-directory -C "$@" 3>&-
}

# build_default DIRECTORY GOAL...: the same with the CFLAGS of the Makefile.
build_default() {
	build_alone make --no-print-directory -C "$@" 3>&-
}

build_alone() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CC -u CFLAGS -u LDFLAGS \
	    -u WERROR -u STATIC -u PREFIX -u LIBDIR -u SYSCONFDIR -u DESTDIR \
	    -u ZSH_DIR "$@"
}

# unbuilt: another tree, ./copy, where nothing has been made yet.
unbuilt() {
	rm -rf copy
	cp -a "$tree" copy
	rm -r copy/build copy/redlock-run
}

# stub NAME LINE: a command in ./stubs.
stub() {
	mkdir -p stubs
	printf '#!/bin/sh\n%s\n' "$2" >"stubs/$1"
	chmod +x "stubs/$1"
}

# hide COMMAND...: ./found has all the commands of this machine but these.
hide() {
	local command
	mkdir -p found
	ln -sf -t found /usr/bin/*
	ln -sf -t found /bin/*
	for command in "$@"; do
		rm -f "found/$command"
	done
}

files_under() {
	(cd "$1" && find . -type f | sort)
}

@test "make writes ./redlock-run and build, and nothing else" {
	[[ $("$tree/redlock-run" --version) == redlock-run\ [0-9]* ]]
	cp -a "$tree" copy
	build copy clean
	diff <(files_under copy) <(cd "$top" &&
		find ./Makefile ./README.md ./LICENSE ./src ./man \
		    ./completions -type f | sort)
}

@test "make rebuilds everything after a change of flags" {
	cp -a "$tree" copy
	run build copy all
	[[ $output != *compile* && $output != *link* ]]
	build copy build/base/clock.o
	run build copy build/base/clock.o CPPFLAGS=-DNOTHING
	[[ $output == *'compile build/base/clock.o'* ]]
}

@test "make V=1 shows the commands" {
	cp -a "$tree" copy
	run build copy -B build/base/clock.o V=1
	[[ $status -eq 0 ]]
	grep -q -- ' -c -o build/base/clock.o src/base/clock.c$' <<<"$output"
}

# needed: the libraries that ./copy/redlock-run is linked with.
needed() {
	readelf -d copy/redlock-run | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

@test "make links hiredis and uuid dynamically, and make STATIC=1 needs libc alone" {
	cp -a "$tree" copy
	build copy -j2 all
	needed | grep -q '^libhiredis\.so'
	needed | grep -q '^libuuid\.so'
	build copy -j2 all STATIC=1
	needed | grep -q '^libc\.so'
	run grep -vE '^(libc|ld-linux.*)\.so' <(needed)
	[[ $status -eq 1 ]]
	[[ $(copy/redlock-run --version) == redlock-run\ [0-9]* ]]
}

@test "make STATIC=1 names a missing archive before it builds anything" {
	unbuilt
	stub cc "case \$* in *-l:libhiredis.a*) exit 1; esac; exec gcc \"\$@\""
	run build copy all STATIC=1 CC="$PWD/stubs/cc"
	[[ $status -ne 0 ]]
	grep -qx "STATIC=1 .*: libhiredis.a (in Debian's libhiredis-dev)." \
	    <<<"${lines[0]}"
	[[ ${lines[1]} == make:* && ${#lines[@]} -eq 2 ]]
	build copy build/base/clock.o CC="$PWD/stubs/cc"
}

@test "a user's CFLAGS keep the required flags" {
	run build_default "$tree" -n -B all CFLAGS=-O0
	[[ $status -eq 0 ]]
	grep -q -- ' -std=c11 .* -O0 ' <<<"$output"
	run grep -- '-O2' <<<"$output"
	[[ $status -eq 1 ]]
}

# flags_of DIRECTORY [ARG...]: the compiler's flags for an object there.
flags_of() {
	build_default "$1" -n -B build/base/clock.o "${@:2}" | grep ' -c -o build/base/clock.o '
}

@test "the program has all hardening that the compiler and libc offer" {
	local flag
	flags_of "$tree" >flags
	for flag in -fstack-protector-strong -fstack-clash-protection \
	    -fcf-protection; do
		gcc -Werror $flag -x c -c -o /dev/null /dev/null || continue
		grep -q -- " $flag " flags
	done
	if gcc -Werror -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -x c -E \
	    - <<<'#include <features.h>' -dM |
	    grep -q '__USE_FORTIFY_LEVEL 3'; then
		grep -q -- ' -D_FORTIFY_SOURCE=3 ' flags
	fi
	# Whatever CFLAGS are the user's own.
	[[ $(uname -m) != x86_64 ]] ||
		flags_of "$tree" CFLAGS=-O0 | grep -q -- ' -fcf-protection '
}

@test "a user's CFLAGS and LDFLAGS keep the hardening, and can switch it off" {
	flags_of "$tree" CFLAGS=-O2 LDFLAGS= >flags
	grep -q -- ' -fPIE .* -O2 ' flags
	grep -q -- ' -fstack-protector-strong .* -O2 ' flags
	grep -q -- ' -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=[23] .*-O2 ' flags
	# It needs -O, and hides errors from a sanitizer.
	flags_of "$tree" CFLAGS=-O0 >flags
	not grep -q -- -D_FORTIFY_SOURCE flags
	flags_of "$tree" CFLAGS='-O1 -fsanitize=address' >flags
	not grep -q -- -D_FORTIFY_SOURCE flags
	cp -a "$tree" copy
	build copy -j2 redlock-run LDFLAGS=
	readelf -hW copy/redlock-run | grep -q 'Type: *DYN'
	readelf -lW copy/redlock-run | grep -q GNU_RELRO
	readelf -dW copy/redlock-run | grep -qE 'FLAGS.*NOW|BIND_NOW'
	run build copy -n -B redlock-run LDFLAGS=-no-pie
	grep -q -- ' -pie .* -no-pie ' <<<"$output"
}

@test "two builds of one source are equal, wherever they are made" {
	local place
	for place in one deep/er/two; do
		mkdir -p "$place"
		cp -R "$top"/{Makefile,src} "$place"
		build_alone make --no-print-directory -C "$place" -j2 \
		    redlock-run CFLAGS='-O0 -g' 3>&-
	done
	cmp one/redlock-run deep/er/two/redlock-run
	not grep -q "$PWD" one/redlock-run
}

@test "make omits hardening that the compiler or libc lacks" {
	stub cc 'for flag; do
		case $flag in
		-fcf-protection | -fstack-clash-protection | *_FORTIFY_SOURCE=3)
			exit 1 ;;
		esac
	done
	exec gcc "$@"'
	flags_of "$tree" CC="$PWD/stubs/cc" >flags
	grep -q -- ' -D_FORTIFY_SOURCE=2 ' flags
	not grep -q -e -fcf-protection -e -fstack-clash-protection flags
	cp -a "$tree" copy
	build copy build/base/clock.o CC="$PWD/stubs/cc"
}

@test "make install honours DESTDIR and PREFIX, and make uninstall removes it all" {
	local module=lib/redlock-run/redlock-run-tls.so

	build "$tree" install DESTDIR="$PWD/root" PREFIX=/opt/it
	if pkg-config --exists openssl; then
		[[ $(stat -c %a "root/opt/it/$module") == 644 ]]
		rm "root/opt/it/$module"
	fi
	diff <(files_under root) - <<-'END'
		./opt/it/bin/redlock-run
		./opt/it/share/bash-completion/completions/redlock-run
		./opt/it/share/doc/redlock-run/NEWS
		./opt/it/share/doc/redlock-run/examples/fence-mariadb.sql
		./opt/it/share/doc/redlock-run/examples/fence-postgresql.sql
		./opt/it/share/doc/redlock-run/examples/fence-sqlite.sql
		./opt/it/share/doc/redlock-run/examples/redlock-run.conf
		./opt/it/share/fish/vendor_completions.d/redlock-run.fish
		./opt/it/share/man/man1/redlock-run.1
		./opt/it/share/man/man5/redlock-run.conf.5
		./opt/it/share/man/man7/redlock-run.7
		./opt/it/share/zsh/site-functions/_redlock-run
	END
	root/opt/it/bin/redlock-run --version
	[[ $(stat -c %a root/opt/it/bin/redlock-run) == 755 ]]
	[[ $(stat -c %a root/opt/it/share/man/man1/redlock-run.1) == 644 ]]
	touch root/opt/it/bin/something-else
	build "$tree" uninstall DESTDIR="$PWD/root" PREFIX=/opt/it
	[[ $(files_under root) == ./opt/it/bin/something-else ]]
	build "$tree" install DESTDIR="$PWD/default"
	[[ -x default/usr/local/bin/redlock-run ]]
}

@test "make install names the program and the configuration file where they are" {
	cp -a "$tree" copy
	build copy install DESTDIR="$PWD/root" PREFIX=/opt/it SYSCONFDIR=/opt/etc
	root/opt/it/bin/redlock-run --help |
		grep -F '[default: /opt/etc/redlock-run.conf]'
	grep -rhF redlock-run.conf root/opt/it/share/{man,doc} >named
	grep -qF /opt/etc/redlock-run.conf named
	not grep -F ' /etc/redlock-run' named
	diff <(sed -n 's/^\.Pa \(.*\.sql\)$/\1/p' root/opt/it/share/man/man7/*.7 |
		sort) <(cd root && printf '/%s\n' opt/it/share/doc/*/examples/*.sql)
	diff <(sed -n 's/^ExecStart=//p' root/opt/it/share/man/man7/*.7 |
		cut -d ' ' -f 1 | uniq) <(echo /opt/it/bin/redlock-run)
}

@test "the example of a configuration file has each setting with its default" {
	local example=$top/man/redlock-run.conf
	# Comments of prose begin with a blank.
	sed -n 's/^#\([a-z]\)/\1/p' "$example" >conf
	diff <(cut -d ' ' -f 1 conf | sort) \
	    <(sed -n '/^\.Sh SETTINGS/,/^\.El/p' "$top/man/redlock-run.conf.5" |
		sed -n 's/^\.It Cm //p' | sort)
	not grep '^[^#]' "$example"
	# Passwords, TLS and max-waiting have no defaults; the grace is for several
	# servers.
	sed -E '/^(redis|(sentinel-)?password|tls|max-waiting)/d; s/ 60s$/ 1m/' conf >defaults
	chmod 644 defaults
	export REDLOCK_REDIS='unix:///a unix:///b'
	redlock --config defaults --show-config | grep -v ^config >shown
	[[ $(grep -c '  defaults:' shown) -eq $(wc -l <defaults) ]]
	diff <(awk '{ print $1, $2 }' shown) <(redlock --config /dev/null \
	    --show-config | awk '!/^config/ { print $1, $2 }')
}

# loads: ./at/bin/redlock-run loads the module that is there, whatever it is.
loads() {
	rm -f loaded
	run -64 env LOADED="$PWD/loaded" REDLOCK_CONFIG=/dev/null \
	    at/bin/redlock-run -k a -r rediss://127.0.0.1:1 -- true
	[[ -e loaded ]]
}

# loads_none: and says why.
loads_none() {
	! loads && [[ $output == *'users other than root and the owner'* ]]
}

@test "a TLS module from a directory that others can write is not loaded" {
	gcc -shared -fPIC -x c -o evil.so - <<-'END'
		#include <fcntl.h>
		#include <stdlib.h>
		__attribute__((constructor)) static void load(void)
		{
			creat(getenv("LOADED"), 0600);
		}
	END
	umask 022
	mkdir -p at/bin at/lib/redlock-run
	cp "$tree/redlock-run" at/bin
	for place in bin lib/redlock-run; do
		rm -f at/*/redlock-run-tls.so at/lib/redlock-run/*
		cp evil.so "at/$place/redlock-run-tls.so"
		loads
		for part in "$place/redlock-run-tls.so" "$place" .; do
			chmod g+w "at/$part"
			loads_none
			chmod g-w,o+w "at/$part"
			loads_none
			chmod o-w "at/$part"
			((EUID == 0)) || continue
			chown 65534 "at/$part"
			loads_none
			chown 0 "at/$part"
		done
		loads
	done
	mkdir -m 777 open
	mv at/lib/redlock-run/redlock-run-tls.so open
	ln -s ../../../open/redlock-run-tls.so at/lib/redlock-run
	loads_none
	# In a directory such as /tmp users cannot replace the files of others.
	chmod 1777 open
	loads
}

@test "the TLS module of LIBDIR is loaded wherever the program is" {
	cp -a "$tree" copy
	build copy all LIBDIR="$PWD/prefix/lib"
	mkdir -p prefix/lib/redlock-run elsewhere
	echo 'const int redlock_not_tls = 1;' | gcc -shared -fPIC -x c \
	    -o prefix/lib/redlock-run/redlock-run-tls.so -
	mv copy/redlock-run elsewhere
	chmod 777 elsewhere
	run -64 elsewhere/redlock-run -k a -r rediss://127.0.0.1:1 -- true
	[[ $output == *'undefined symbol: redlock_tls'* ]]
	# Not if others could have put it there.
	for part in redlock-run/redlock-run-tls.so redlock-run .; do
		chmod o+w "prefix/lib/$part"
		run -64 elsewhere/redlock-run -k a -r rediss://127.0.0.1:1 -- true
		[[ $output == *'users other than root and the owner'* ]]
		chmod o-w "prefix/lib/$part"
	done
	# Nor if that is where ../lib leads, and was refused.
	mkdir prefix/bin
	cp elsewhere/redlock-run prefix/bin
	chmod o+w prefix/lib/redlock-run
	run -64 prefix/bin/redlock-run -k a -r rediss://127.0.0.1:1 -- true
	[[ $output == *'users other than root and the owner'* ]]
}

@test "make install puts the zsh completion into ZSH_DIR" {
	local where=(DESTDIR="$PWD/root" PREFIX=/usr
	    ZSH_DIR=zsh/vendor-completions)
	build "$tree" install "${where[@]}"
	[[ -e root/usr/share/zsh/vendor-completions/_redlock-run ]]
	[[ ! -e root/usr/share/zsh/site-functions ]]
	build "$tree" uninstall "${where[@]}"
	[[ -z $(files_under root) ]]
}

@test "a missing library gives one plain sentence" {
	unbuilt
	export PKG_CONFIG_LIBDIR=/nonexistent
	run build copy all
	[[ $status -ne 0 ]]
	[[ ${lines[0]} == *"without libhiredis-dev uuid-dev"*"'make deps' installs"* ]]
	[[ ${lines[1]} == make:* && ${#lines[@]} -eq 2 ]]
}

@test "a missing compiler gives one plain sentence" {
	hide cc gcc clang
	unbuilt
	PATH=$PWD/found run build copy all
	[[ $status -ne 0 && ${lines[0]} == *"without gcc libc6-dev"* ]]
	[[ ${lines[1]} == make:* && ${#lines[@]} -eq 2 ]]
}

@test "make deps does nothing when nothing is missing, and needs no root" {
	stub apt-get "touch $PWD/called; exit 1"
	stub sudo "touch $PWD/called; exit 1"
	stub id 'echo 1000'
	PATH=$PWD/stubs:$PATH run build "$tree" deps
	[[ $status -eq 0 && -z $output && ! -e called ]]
}

# bring_nothing: apt-get fails; ./called has what was asked of it.
bring_nothing() {
	hide apt-get id "$@"
	stub apt-get "echo \"\$@\" >>$PWD/called; [ \$1 = update ]"
	stub id 'echo 0'
}

# brings GOAL...: what `make deps GOAL...` wants from apt-get.
brings() {
	rm -f called
	not env PATH="$PWD/stubs:$PWD/found" make -s -C copy deps "$@" 2>said
	sed -n 's/^install .*-recommends //p' called
}

@test "make deps installs what the other goals need, and nothing else" {
	local build='pkg-config libhiredis-dev uuid-dev libssl-dev' words
	unbuilt
	bring_nothing pkg-config redis-server redis-cli bats mandoc strace \
	    python3 ip dpkg-buildpackage dpkg-source dh
	diff <(brings) <(echo "$build")
	diff <(brings demo) <(echo "${build/ / redis-server redis-tools }")
	diff <(brings deb) <(echo "${build/ / dpkg-dev debhelper }")
	diff <(brings static) <(echo "${build/ / dpkg-dev }")
	read -ra words < <(brings check)
	for word in redis-server redis-tools bats mandoc strace python3 iproute2; do
		[[ " ${words[*]} " == *" $word "* ]]
	done
}

@test "make deps installs missing packages, as root" {
	hide redis-server apt-get id
	unbuilt
	stub apt-get "echo \"\$@\" >>$PWD/called"
	stub id 'echo 0'
	PATH=$PWD/stubs:$PWD/found run build copy deps demo -o demo
	[[ $status -eq 0 ]]
	diff called - <<-END
		update
		install -y --no-install-recommends redis-server
	END
}

@test "make deps installs missing packages, through sudo" {
	hide pkg-config apt-get id sudo
	stub apt-get "echo \"\$@\" >>$PWD/called"
	stub sudo "echo sudo >>$PWD/called; exec \"\$@\""
	stub id 'echo 1000'
	PATH=$PWD/stubs:$PWD/found run build "$tree" deps
	[[ $status -eq 0 ]]
	diff <(cut -d ' ' -f 1 called) <(printf 'sudo\nupdate\nsudo\ninstall\n')
	grep -q ' pkg-config ' called
}

@test "make deps reports that it cannot install anything" {
	hide pkg-config apt-get sudo id
	stub id 'echo 1000'
	PATH=$PWD/stubs:$PWD/found run build "$tree" deps
	[[ $status -ne 0 ]]
	[[ $output == *"no apt-get here to install pkg-config"* ]]
	stub apt-get "touch $PWD/called"
	PATH=$PWD/stubs:$PWD/found run build "$tree" deps
	[[ $status -ne 0 && $output == *"no sudo here"* && ! -e called ]]
}

@test "make deps and further goals work in one invocation, also with -j" {
	local jobs
	for jobs in 1 4; do
		unbuilt
		hide pkg-config apt-get id cc gcc
		stub id 'echo 0'
		# It takes its time, and then they are there.
		stub apt-get "[ \$1 = install ] || exit 0
		sleep 0.5
		ln -s /usr/bin/pkg-config /usr/bin/cc /usr/bin/gcc $PWD/found"
		PATH=$PWD/stubs:$PWD/found run build copy -j"$jobs" \
		    deps build/base/clock.o
		[[ $status -eq 0 && -e copy/build/base/clock.o ]]
	done
}

@test "make deb names Debian's missing tools" {
	hide dpkg-buildpackage dh
	unbuilt
	mkdir copy/.debian
	PATH=$PWD/found run build copy deb
	[[ $status -ne 0 ]]
	[[ ${lines[0]} == \
	    *"without dpkg-dev debhelper"*"'make deps deb' installs"* ]]
	[[ ${lines[1]} == make:* && ${#lines[@]} -eq 2 ]]
}

@test "make check counts skipped tests, and lists what they need" {
	cat >unit <<-'END'
		#!/bin/sh
		cat <<TAP
		1..5
		ok 1 a
		ok 2 b # skip needs root
		ok 3 c # skip needs ip (iproute2)
		ok 4 d
		ok 5 e # skip needs ip (iproute2)
		TAP
	END
	chmod +x unit
	"$top/tests/run" ./unit | tail -n 2 >said
	diff said - <<-'END'
		3 skipped: needs ip (iproute2), root
		2 passed, 0 failed
	END
}

@test "the packages and NEWS have the version of the program" {
	local version
	version=$("$tree/redlock-run" --version | sed -n '1s/^redlock-run //p')
	diff <(sed -n 's/^Version: *//p' "$top/.rpm/redlock-run.spec") \
	    <(echo "$version")
	diff <(grep -m 1 -oE '^[0-9][^ ]*' "$top/man/NEWS") <(echo "${version%%~*}")
	[[ -e $top/.debian ]] || skip "needs a git checkout"
	diff <(sed -n '1s/^redlock-run (\(.*\)-[0-9]*) .*/\1/p' \
	    "$top/.debian/changelog") <(echo "$version")
}

@test "make dist gives the same bytes from every clone, without .ci and .debian" {
	git -C "$top" rev-parse HEAD || skip "needs a git checkout"
	(umask 077 && git clone -q "$top" clone)
	git -C clone config tar.umask 0
	build "$top" dist B="$PWD/out"
	build clone dist
	cmp out/redlock-run-*.tar.gz clone/build/redlock-run-*.tar.gz
	tar -xf out/redlock-run-*.tar.gz
	diff <(files_under redlock-run-*) <(git -C "$top" ls-tree -r \
	    --name-only HEAD | grep -vE '^\.(ci|debian)/' | sed 's,^,./,' | sort)
}

@test "the tarball of make dist can be built; what needs git says so" {
	local goal
	git -C "$top" rev-parse HEAD || skip "needs a git checkout"
	build "$top" dist B="$PWD/out"
	tar -xf out/redlock-run-*.tar.gz
	build redlock-run-* -j2 all
	for goal in deb check-deb lint dist release; do
		run build redlock-run-* "$goal"
		[[ $status -ne 0 ]]
		[[ ${lines[0]} == "'make $goal' works only from git." ]]
	done
}

@test "the scripts are sent without comments and indentation" {
	[[ $(sed -n 's/.* script_\(.*\) =.*/\1/p' "$tree/build/scripts.h") == \
	    $'lock\nstatus\nhistory\nmetrics\nbreak' ]]
	run grep -nE '"(--|[[:blank:]])|[[:blank:]]\\n"' "$tree/build/scripts.h"
	[[ $status -eq 1 ]]
}

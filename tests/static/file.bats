#!/usr/bin/env bats
# bats file_tags=quick
#
# The file of `make static`; `make check-static` runs this beside others.
# shellcheck disable=SC2154,SC2030,SC2031

load ../lib/common
load ../lib/process
load ../lib/tls

setup_file() {
	redis_start_tcp redis
	[[ -z $(no_tls) ]] || return 0
	tls_make_certificates
	tls_start secure server
}

setup() {
	! grep -q /ld- "$REDLOCK_RUN" ||
		skip "needs the static file (make check-static)"
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	helper_pid=''
	mkdir -p root/proc root/etc
	cp "$REDLOCK_RUN" root/redlock-run
}

teardown() {
	[[ -z $helper_pid ]] || kill -KILL "$helper_pid"
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# in_root [NAME=VALUE...] COMMAND...: in a root that has the static file, /proc and
# etc, and nothing else.
in_root() {
	local -a user=() variables=()
	while [[ $1 == *=* ]]; do
		variables+=("$1")
		shift
	done
	((EUID == 0)) || user=(--map-root-user)
	unshare "${user[@]}" --mount true 2>/dev/null ||
		skip "needs mount namespaces"
	env -u REDLOCK_CONFIG -u SSL_CERT_FILE -u SSL_CERT_DIR \
	    "${variables[@]}" unshare "${user[@]}" --mount \
	    sh -c 'mount --rbind /proc root/proc && exec chroot root "$@"' - "$@"
}

# has_name NAME: a DNS server has 127.0.0.1 for it, and root/etc/resolv.conf names
# that server.
has_name() {
	local at=127.$((1 + RANDOM % 200)).$((RANDOM % 200)).53
	echo "$1 127.0.0.1" >zone
	/usr/bin/python3 "$top/tests/helpers/nameserver.py" "$at" zone queries \
	    2>why 3>&- 4>&- &
	helper_pid=$!
	eventually listens "$at"
	gone "$helper_pid" && skip "needs port 53: $(tail -n 1 why)"
	echo "nameserver $at" >root/etc/resolv.conf
}

listens() {
	gone "$helper_pid" || ss -Hlun "src $1" | grep -q .
}

@test "the static file is a PIE that needs neither an interpreter nor a library" {
	readelf -hld "$REDLOCK_RUN" >elf
	grep -Eq 'Type: +DYN' elf
	run ! grep -E 'INTERP|NEEDED' elf
}

# may_write_relro PID: succeeds if PID, a run of the static file, may still write to
# a page that RELRO names.
may_write_relro() {
	local base range mode at size page from to
	page=$(getconf PAGESIZE)
	read -r at size < <(readelf -lW "$REDLOCK_RUN" |
		awk '$1 == "GNU_RELRO" { print $3, $6 }')
	base=0x$(grep -m 1 -F " $(readlink "/proc/$1/exe")" "/proc/$1/maps" |
		cut -d - -f 1)
	from=$(((base + at) / page * page))
	to=$(((base + at + size) / page * page))
	((to > from)) || return 2
	while read -r range mode _; do
		[[ $mode != ?w* ]] || ((0x${range%-*} >= to)) ||
			((0x${range#*-} <= from)) || return 0
	done <"/proc/$1/maps"
	return 1
}

@test "the tables of the static file are read-only once it has started (RELRO)" {
	"$REDLOCK_RUN" -r "redis://127.0.0.1:$redis_port" -k a -- sleep 60 \
	    3>&- 4>&- &
	helper_pid=$!
	eventually held
	run -1 may_write_relro "$helper_pid"
	kill "$helper_pid"
	wait "$helper_pid" || true
	helper_pid=''
}

@test "--version has the sources of the static file in their recorded versions" {
	local package version
	run -0 "$REDLOCK_RUN" --version
	for package in musl hiredis util-linux openssl; do
		[[ $package != openssl || -z $(no_tls) ]] || continue
		version=$(sed -n "s/^# $package=//p" "$top/.static/sums")
		grep -qE "^Sources: Debian's (.*,)?$package=${version//+/\\+}(,|$)" \
		    <<<"$output"
	done
}

@test "the static file has at most 530 kB, and with TLS 3.7 MB" {
	local limit=530000
	! "$REDLOCK_RUN" --version | grep -qx 'TLS: yes' || limit=3700000
	(($(stat -c %s "$REDLOCK_RUN") <= limit))
}

@test "the static file runs where there is nothing but /proc and resolv.conf" {
	has_name redis.test
	run -0 in_root /redlock-run -r "redis://redis.test:$redis_port" -k a -- \
	    /redlock-run -r "redis://redis.test:$redis_port" --status
	[[ ${lines[1]} == "a "*" held "*" redlock-run "* ]]
	free
}

@test "the static file finds a name with an IPv4 address if the query for IPv6 fails" {
	local how
	has_name four.test
	for how in servfail refused unknown silent; do
		echo "four.test 127.0.0.1 $how" >zone
		run -0 in_root /redlock-run -r "redis://four.test:$redis_port" \
		    -k a --node-timeout 8s -t 80s -- /redlock-run --version
	done
	free
}

@test "the static file has TLS where there is nothing but /proc, resolv.conf and a CA file" {
	[[ -z $(no_tls) ]] || skip "$(no_tls)"
	has_name localhost
	cp "$certs/ca.crt" root/etc/ca.pem
	run -0 in_root /redlock-run -r "$(tls_url secure localhost)" \
	    --tls-ca /etc/ca.pem -k a -- /redlock-run --tls-ca /etc/ca.pem \
	    -r "$(tls_url secure localhost)" --status
	[[ ${lines[1]} == "a "*" held "*" redlock-run "* ]]
}

@test "without --tls-ca the static file finds the authorities of each distribution" {
	local file url hash
	[[ -z $(no_tls) ]] || skip "$(no_tls)"
	url=$(tls_url secure)
	run -64 in_root /redlock-run -r "$url" -k a -- /redlock-run --version
	[[ $output == *"no certificates of authorities"*"--tls-ca"* ]]
	hash=$(openssl x509 -noout -hash -in "$certs/ca.crt")
	for file in /etc/ssl/certs/"$hash.0" /etc/ssl/certs/ca-certificates.crt \
	    /etc/pki/tls/certs/ca-bundle.crt \
	    /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem \
	    /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
		mkdir -p "root${file%/*}"
		cp "$certs/ca.crt" "root$file"
		run -0 in_root /redlock-run -r "$url" -k a -- /redlock-run --version
		rm "root$file"
	done
	mkdir -p root/other
	cp "$certs/ca.crt" "root/other/$hash.0"
	run -0 in_root SSL_CERT_DIR=/other /redlock-run -r "$url" -k a -- \
	    /redlock-run --version
	run -0 in_root SSL_CERT_FILE="/other/$hash.0" /redlock-run -r "$url" \
	    -k a -- /redlock-run --version
	run -64 in_root SSL_CERT_FILE=/none /redlock-run -r "$url" -k a -- \
	    /redlock-run --version
	[[ $output == *"SSL_CERT_FILE: '/none' cannot be read"* ]]
}

# container_words WORD: what that line of the example FROM scratch has.
container_words() {
	sed -n '/^FROM scratch$/,/^\.Ed$/p' "$top/man/redlock-run.7" |
		sed -n "s/^$1 \[*//p" | tr -d '",]'
}

@test "container example: FROM scratch has all that it needs" {
	local words
	has_name redis.example.com
	[[ $(container_words COPY) == \
	    $'build/static/redlock-run /redlock-run\nworker /worker' ]]
	# A server of ours stands in for port 6379, and the static file for a worker.
	cp "$REDLOCK_RUN" root/worker
	read -ra words <<<"$(container_words ENTRYPOINT | tr '\n' ' ')$(container_words CMD)"
	run -0 in_root "$(container_words ENV):$redis_port" "${words[@]}" --status
	[[ ${lines[1]} == "worker "*" held "*" worker "* ]]
	free worker
}

@test "without a shell a file that is no program gives 126" {
	echo 'echo never' >root/plain
	chmod +x root/plain
	run -126 in_root /redlock-run -r "redis://127.0.0.1:$redis_port" -k a -- \
	    /plain
	[[ $output == "redlock-run: a: '/plain' was not run: Exec format error" ]]
	free
}

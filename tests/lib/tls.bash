# shellcheck shell=bash disable=SC2154
#
# Certificates of our own, and servers that show them.  Tests query such a server
# over its unix socket, without TLS.

# no_tls: why there is nothing to test, if so.
no_tls() {
	if ! "$REDLOCK_RUN" --version | grep -qx 'TLS: yes'; then
		echo 'needs a build with TLS'
	elif ! command -v openssl >/dev/null; then
		echo 'needs openssl'
	fi
}

# tls_authority NAME: makes an authority that signs certificates.
tls_authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
	    -nodes -days 10 -subj "/CN=$1" -keyout "$1.key" -out "$1.crt"
}

# tls_certificate NAME ALTNAMES AUTHORITY [DAYS]: for that many days from now,
# or until so many days ago.  NAME is its common name.
tls_certificate() {
	local days=${4:-10} from=now
	((days > 0)) || from='2 months ago'
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
	    -subj "/CN=$1" ${2:+-addext "subjectAltName=$2"} \
	    -keyout "$1.key" -out "$1.csr"
	openssl ca -batch -notext -config ca.conf -in "$1.csr" -out "$1.crt" \
	    -cert "$3.crt" -keyfile "$3.key" \
	    -startdate "$(date -u -d "$from" +%Y%m%d%H%M%SZ)" \
	    -enddate "$(date -u -d "$days days" +%Y%m%d%H%M%SZ)"
}

# tls_make_certificates: into $certs.
tls_make_certificates() {
	export certs=$BATS_FILE_TMPDIR/certs
	mkdir "$certs"
	(
		cd "$certs" || exit
		: >index.txt
		cat >ca.conf <<-'END' || exit
			[ca]
			default_ca = ours
			[ours]
			database = index.txt
			rand_serial = yes
			new_certs_dir = .
			default_md = sha256
			policy = any
			copy_extensions = copy
			unique_subject = no
			[any]
			commonName = supplied
		END
		tls_authority ca && tls_authority stranger &&
		tls_certificate server IP:127.0.0.1,DNS:localhost ca &&
		tls_certificate expired IP:127.0.0.1,DNS:localhost ca -1 &&
		tls_certificate other DNS:redis.example ca &&
		tls_certificate localhost '' ca &&
		tls_certificate client DNS:client.example ca &&
		tls_certificate alien DNS:client.example stranger
	) >"$certs/log" 2>&1 || { cat "$certs/log" >&2 && return 1; }
}

# tls_start NAME CERTIFICATE [ARG...]: a server that shows it, on a free port
# of 127.0.0.1.
tls_start() {
	local name=$1 certificate=$2 port try
	shift 2
	for try in {1..50}; do
		port=$((20000 + RANDOM % 12000))
		echo "$port" >"$BATS_FILE_TMPDIR/$name.port"
		redis_start "$name" --bind 127.0.0.1 --tls-port "$port" \
		    --tls-cert-file "$certs/$certificate.crt" \
		    --tls-key-file "$certs/$certificate.key" \
		    --tls-ca-cert-file "$certs/ca.crt" \
		    --tls-auth-clients no "$@" && return 0
	done
	echo "no free port in $try tries" >&2
	return 1
}

# tls_port NAME
tls_port() {
	cat "$BATS_FILE_TMPDIR/$1.port"
}

# tls_url NAME [HOST]
tls_url() {
	echo "rediss://${2:-127.0.0.1}:$(tls_port "$1")"
}

# shellcheck shell=bash
#
# A host of our own, as far as files go: /etc and /dev are directories of the
# test, for processes that `on_host` starts.

# host_is_possible: whether we may have mounts of our own; if not, skip.
host_is_possible() {
	host_how=(unshare -m)
	((EUID == 0)) || host_how=(unshare -rm)
	"${host_how[@]}" mount --bind /dev/null /dev/null 2>/dev/null ||
		skip "needs mount namespaces"
}

# host_make: an empty host, in the directories etc and dev.
host_make() {
	local file
	host_is_possible
	mkdir etc dev
	touch dev/null
	for file in passwd group hosts nsswitch.conf ld.so.cache; do
		[[ ! -e /etc/$file ]] || cp "/etc/$file" etc/
	done
}

# on_host COMMAND [ARG...]
on_host() {
	# shellcheck disable=SC2016
	"${host_how[@]}" sh -ec '
		mount --bind /dev/null dev/null
		mount --rbind dev /dev
		mount --bind etc /etc
		exec "$@"' sh "$@" 3>&- 4>&-
}

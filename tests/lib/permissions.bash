# shellcheck shell=bash
#
# What redlock-run may do on the servers of all tests: what the manual says
# that it needs, and nothing else.

# permissions [PREFIX]: the words of that rule, in one line.
permissions() {
	sed -n '/^\.Sh PERMISSIONS/,/^\.Ed/{
		s/\\(aq//g
		s/\\(ti/~/g
		s/^ *//
		s/ \\e$//
		/^~/p
		/^+/p
	}' "${BASH_SOURCE[0]%/*}/../../man/redlock-run.conf.5" |
		paste -sd ' ' |
		sed -e "s|redlock:|${1-redlock:}|g" -e 's/^~\* ~{\*/~*/'
}

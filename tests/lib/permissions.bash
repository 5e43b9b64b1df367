# shellcheck shell=bash
#
# What redlock-run may do on the servers of all tests: what the man page says
# that it needs, and nothing else.

# permissions [PREFIX]: the words of that rule, in one line.
permissions() {
	sed -n '/^\.Sy Least privilege/,/^\.Ed/{
		s/\\(aq//g
		s/\\(ti/~/g
		s/^ *//
		s/ \\e$//
		/^~/p
		/^+/p
	}' "$(dirname "${BASH_SOURCE[0]}")/../../man/redlock-run.1" |
		paste -sd ' ' |
		sed -e "s|redlock:|${1-redlock:}|g" -e 's/^~\* ~{\*/~*/'
}

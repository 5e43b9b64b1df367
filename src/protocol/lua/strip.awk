# Makes a script small: an acquire that sends it and the release behind that have
# to fit into the 16 kB that Redis reads at a time (see conn_eval()).  Takes out
# comments, indentation and the blanks around operators, and gives long names of
# locals short ones.  Strings stay as they are; none has an escaped quote in it.
BEGIN {
	n = split("waiter token reply readers values unconfirmed queue our_fence " \
	    "proposal until_us now_us lasting slot_key slot_of heartbeat " \
	    "keep_slots THIRTY_DAYS_MS SHARED token_of granted_here best_ms " \
	    "attempt value_of record last_us", long, " ")
	for (i = 1; i <= n; i++)
		short[long[i]] = "L" i
}

# A name behind a single dot or a colon is that of a field.
function shorten(code,    out, name, before) {
	while (match(code, /[A-Za-z_][A-Za-z_0-9]*/)) {
		name = substr(code, RSTART, RLENGTH)
		out = out substr(code, 1, RSTART - 1)
		before = substr(out, length(out) - 1)
		if (name in short && before !~ /(^|[^.])[.]$|:$/)
			name = short[name]
		out = out name
		code = substr(code, RSTART + RLENGTH)
	}
	return out code
}

/^[ \t]*--/ { next }
{
	n = split($0, part, "'")
	line = ""
	for (i = 1; i <= n; i++) {
		code = part[i]
		if (i % 2 == 1) {
			ends = match(code, /[ \t]*--.*$/)
			if (ends)
				code = substr(code, 1, ends - 1)
			gsub(/\t/, "", code)
			gsub(/ *\.\. */, "..", code)
			gsub(/ *== */, "==", code)
			gsub(/ *~= */, "~=", code)
			gsub(/ *<= */, "<=", code)
			gsub(/ *>= */, ">=", code)
			gsub(/ *, */, ",", code)
			gsub(/ *\+ */, "+", code)
			gsub(/ *\* */, "*", code)
			gsub(/ *\/ */, "/", code)
			gsub(/ *> */, ">", code)
			gsub(/ *< */, "<", code)
			gsub(/ = /, "=", code)
			# A number would swallow the first of two dots.
			gsub(/[0-9]\.\./, "& ", code)
			while (match(code, /[0-9]\.\. /))
				code = substr(code, 1, RSTART) " .." substr(code, RSTART + RLENGTH)
		}
		line = line (i > 1 ? "'" : "") (i % 2 == 1 ? shorten(code) : code)
		if (i % 2 == 1 && ends)
			break
	}
	sub(/[ \t]+$/, "", line)
	if (line != "")
		print line
}

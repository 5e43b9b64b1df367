# shellcheck shell=bash disable=SC2154
#
# What each of the three shells proposes for a line that begins with
# redlock-run.

# bash_complete WORD...: what bash proposes, a word a line, in the file reply.
# The words are those that bash would make of the line.
bash_complete() {
	bash --norc -c '
	[[ -z $BASH_COMPLETION ]] || . "$BASH_COMPLETION"
	. "$0/completions/redlock-run.bash"
	compopt() { :; }
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$* COMP_POINT=${#COMP_LINE}
	COMP_TYPE=9
	_redlock_run redlock-run "${COMP_WORDS[COMP_CWORD]}" \
	    "${COMP_WORDS[COMP_CWORD - 1]}"
	((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"
	' "$top" "$@" >reply 3>&-
}

# zsh_complete LINE PATTERN: zsh's own terminal shows what matches PATTERN.
zsh_complete() {
	cat >complete.zsh <<'END'
	zmodload zsh/zpty
	zpty z TERM=dumb COLUMNS=200 zsh -f -i
	zpty -w z "fpath=($1 \$fpath); autoload -U compinit; compinit -u -d ${(q)PWD}/zsh.known"
	zpty -w z "setopt no_auto_menu no_beep; LISTMAX=10000 PS1=; bindkey '^I' list-choices; echo rea''dy"
	zpty -r -m z out '*ready*'
	zpty -w -n z "$2"$'\t'
	zpty -r -m z out "*$3*"
	zpty -d z
END
	timeout 30 zsh -f complete.zsh "$top/completions" "$1" "$2" 3>&-
}

# fish_complete LINE: the same for fish, with descriptions.
fish_complete() {
	# shellcheck disable=SC2016
	XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD fish --no-config -c '
	source $argv[1]/completions/redlock-run.fish
	complete -c redlock-test-command -l its-own -x
	complete --do-complete=$argv[2]' "$top" "$1" >reply 3>&-
}

options_of_zsh() {
	sed -nE \
	    -e "s/^.*\{(-.)(\+?),(--[a-z-]+)=?\}.*/\1 \3 \2/p" \
	    -e "s/^	'(\([^)]*\))?(--[a-z-]+)(=?)\[.*/- \2 \3/p" \
	    "$top/completions/_redlock-run" |
		awk '{ print $1, $2, (NF > 2 ? "yes" : "no") }' | sort
}

options_of_fish() {
	awk '/^__redlock_run_option/ {
		short = "-"; long = ""; value = "no"
		for (i = 2; i <= NF; i++) {
			if ($i == "-s")
				short = "-" $(i + 1)
			if ($i == "-l")
				long = "--" $(i + 1)
			if ($i == "-x" || $i == "-r")
				value = "yes"
			if ($i == "-d")
				break
		}
		print short, long, value
	}' "$top/completions/redlock-run.fish" | sort
}

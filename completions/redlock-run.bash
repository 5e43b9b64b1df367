# shellcheck shell=bash
#
# Completion for bash.  What follows the options is a command of its own and is
# completed as such.

# Names of locks, if the servers answer at once; of past runs, too, if $1 is
# --history.  $2 are the URLs of the servers, if the line names any, the rest are
# options.  URLs may have passwords, so they are in the environment: ps shows
# arguments to everybody.
_redlock_run_names()
{
	local query queries=(--status)

	[[ $1 != --history ]] || queries+=('--history --all --rows 1000000')
	(
		[[ -z $2 ]] || export REDLOCK_REDIS=$2
		shift 2
		for query in "${queries[@]}"; do
			# shellcheck disable=SC2086
			timeout 0.5 redlock-run "$@" --node-timeout 0.4 \
			    --restart-grace 0 $query --json 2>/dev/null
		done
	) | grep -o '{"name":"[^"\\]*"' | cut -d '"' -f 4 | LC_ALL=C sort -u
}

# Puts a word of the line into $word, without its quotes.  What else the shell
# would expand stays as it is: that is no server's name.
_redlock_run_word()
{
	local quoted='^(--[a-z-]+=)?(["'\''])(.*)\2$'

	word=$1
	if [[ $word =~ $quoted ]]; then
		word=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
	elif [[ $word == \~/* ]]; then
		word=$HOME${word#\~}
	fi
}

# The command is at word $1.
_redlock_run_command()
{
	local cur=${COMP_WORDS[COMP_CWORD]}

	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
		return
	fi
	compopt -o filenames
	if (($1 == COMP_CWORD)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

_redlock_run()
{
	local words=() at=() server=() n=-1 i option='' asks='' value name
	local urls='' word
	local piece=${COMP_WORDS[COMP_CWORD]} glue='^[:=@]+$'
	COMPREPLY=()

	# bash splits redis://host:1 and --key=name; these are words again.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		if ((n > 0)) && [[ ${COMP_WORDS[i]} =~ $glue ||
		    ${COMP_WORDS[i - 1]} =~ $glue ]]; then
			words[n]+=${COMP_WORDS[i]}
		else
			n=$((n + 1))
			words[n]=${COMP_WORDS[i]}
			at[n]=$i
		fi
	done

	for ((i = 1; i < n; i++)); do
		# -qk is like -q -k
		[[ ${words[i]} =~ ^-[nosqv]+([kwEtmr].*)$ ]] &&
			words[i]=-${BASH_REMATCH[1]}
		case ${words[i]} in
		--)
			[[ $asks ]] || {
				_redlock_run_command "${at[i + 1]}"
				return
			}
			;;
		-r | --redis)
			((++i == n)) && option=${words[i - 1]} && break
			_redlock_run_word "${words[i]}"
			urls+=" $word"
			;;
		-r?* | --redis=*)
			_redlock_run_word "${words[i]}"
			word=${word#--redis=}
			urls+=" ${word#-r}"
			;;
		--prefix | --password-file | --config | --tls-ca | --tls-cert | \
		    --tls-key | --tls-server-name)
			((++i == n)) && option=${words[i - 1]} && break
			_redlock_run_word "${words[i]}"
			server+=("${words[i - 1]}" "$word")
			;;
		--prefix=* | --password-file=* | --config=* | --tls-*=*)
			_redlock_run_word "${words[i]}"
			server+=("$word")
			;;
		-[kwEtm] | --key | --wait | --conflict-exit-code | --message | \
		    --ttl | --max-ttl | --max-waiting | --min-hold | --once-per | --max-run | \
		    --kill-after | --on-loss | --node-timeout | --restart-grace | --slots | --replicas | \
		    --token | --log | --since | --until | --rows | --max-age)
			((++i == n)) && option=${words[i - 1]}
			;;
		--status | --history | --break | --check | --metrics | \
		    --show-config)
			asks=${words[i]}
			;;
		-?*) ;;
		*)
			[[ $asks ]] || {
				_redlock_run_command "${at[i]}"
				return
			}
			;;
		esac
	done

	value=${words[n]}
	if [[ -z $option && $value == --*=* ]]; then
		option=${value%%=*}
		value=${value#*=}
	fi
	[[ $asks != --@(status|history|break|metrics) || $option || $value == -* ]] ||
		option=-k
	case $option in
	-k | --key)
		# Only what follows the last of bash's separators is replaced.
		while IFS= read -r name; do
			[[ $name == "$value"* ]] || continue
			name=${name#"${value%"${piece##[:=@]*}"}"}
			COMPREPLY+=("$(printf '%q' "$name")")
		done < <(_redlock_run_names "$asks" "$urls" "${server[@]}")
		return
		;;
	-w | --wait)
		mapfile -t COMPREPLY < <(compgen -W inf -- "$value")
		return
		;;
	--on-loss)
		mapfile -t COMPREPLY < <(compgen -W 'stop warn' -- "$value")
		return
		;;
	--since | --until)
		mapfile -t COMPREPLY < <(compgen -W 'today yesterday' -- "$value")
		return
		;;
	--log)
		mapfile -t COMPREPLY < <(compgen -W 'stderr syslog' -- "$value")
		return
		;;
	--password-file | --config | --tls-ca | --tls-cert | --tls-key)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$value")
		return
		;;
	-*)
		return
		;;
	esac

	if [[ $value == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-k --key -w --wait -n --nonblock
		    --latest --no-latest --max-waiting -s --shared --slots -E
		    --conflict-exit-code -m --message
		    -t --ttl --max-ttl --min-hold --once-per --replicas
		    --max-run --kill-after --on-loss
		    -o --only-command -r --redis --prefix --node-timeout
		    --restart-grace --password-file --tls-ca --tls-cert
		    --tls-key --tls-server-name --config
		    --status --watch --history --since --until --failed --all
		    --rows --max-age
		    --break --token --check --metrics --show-config --json --log
		    -q --quiet -v --verbose -h --help -V --version' \
		    -- "$value")
	elif [[ -z $asks ]]; then
		_redlock_run_command "${at[n]}"
	fi
}

complete -F _redlock_run redlock-run

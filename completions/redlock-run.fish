# Completion for fish.  What follows the options is a command of its own and is
# completed as such.

# Prints the command before the cursor, a word a line; fails with 1 if there is
# none yet, with 2 if there will be none.
function __redlock_run_command
    set -l words (commandline -opc)
    set -l no_command 1
    set -e words[1]
    while set -q words[1]
        # -qk is like -q -k
        set -l word (string replace -r '^-[nosqv]+([kwEtmr])$' -- '-$1' $words[1])
        set -e words[1]
        switch $word
            case --
                test $no_command = 2; and continue
                string join \n -- $words
                return 0
            case -k --key -w --wait -E --conflict-exit-code -m --message -t --ttl --min-hold \
                    --max-run --kill-after --on-loss -r --redis --prefix \
                    --node-timeout --restart-grace --password-file --slots \
                    --replicas --tls-ca --tls-cert --tls-key --tls-server-name \
                    --config --token --log --since --rows --max-age
                set -e words[1]
            case --status --history --break --check --metrics --show-config
                set no_command 2
            case '-*'
            case '*'
                test $no_command = 2; and continue
                string join \n -- $word $words
                return 0
        end
    end
    return $no_command
end

function __redlock_run_has_command
    __redlock_run_command >/dev/null
end

# Names of locks, if the servers answer at once.  Their URLs may have passwords,
# so they are in the environment: ps shows arguments to everybody.
function __redlock_run_names
    set -l words (commandline -opc)
    set -l server
    set -l urls
    while set -q words[1]
        set -l word (string replace -r '^-[nosqv]+(r.*)$' -- '-$1' $words[1])
        switch $word
            case -r --redis
                set -a urls "$words[2]"
            case '-r*' '--redis=*'
                set -a urls (string replace -r '^(-r|--redis=)' '' -- $word)
            case --prefix --password-file --config --tls-ca --tls-cert \
                    --tls-key --tls-server-name
                set -a server $word (string replace -r '^~/' $HOME/ -- "$words[2]")
            case '--prefix=*' '--password-file=*' '--config=*' '--tls-*=*'
                set -a server $word
        end
        set -e words[1]
    end
    set -q urls[1]
    and set -lx REDLOCK_REDIS "$urls"
    timeout 0.5 redlock-run $server --node-timeout 0.4 --restart-grace 0 \
            --status --json 2>/dev/null |
        string match -ra '\{"name":"([^"\\\\]*)"' -g
end

function __redlock_run_complete_command
    set -l words (__redlock_run_command)
    if test $status = 2
        string match -q -- '-*' (commandline -ct)
        or contains -- --check (commandline -opc)
        or contains -- --show-config (commandline -opc)
        or __redlock_run_names
        return
    end
    set words (string escape -- $words) (commandline -ct)
    string match -q -- '-*' $words[1]
    or complete --do-complete="$words"
end

function __redlock_run_option
    complete -c redlock-run -n 'not __redlock_run_has_command' $argv
end

complete -c redlock-run -x -a '(__redlock_run_complete_command)'
__redlock_run_option -s k -l key -x -a '(__redlock_run_names)' -d 'The lock'
__redlock_run_option -s w -l wait -x -a inf -d 'Wait for our turn'
__redlock_run_option -s n -l nonblock -d 'Do not wait when it is busy'
__redlock_run_option -s s -l shared -d 'Share it with others that do so'
__redlock_run_option -l slots -x -d 'At most that many hold it at a time'
__redlock_run_option -s E -l conflict-exit-code -x -d 'Exit status when it is busy'
__redlock_run_option -s m -l message -x -d 'Shown with the name of the holder'
__redlock_run_option -s t -l ttl -x -d 'The lease'
__redlock_run_option -l min-hold -x -d 'Keep the lock at least that long'
__redlock_run_option -l replicas -x -d 'Replicas that must have the lock first'
__redlock_run_option -l max-run -x -d 'Stop the command after that long'
__redlock_run_option -l kill-after -x -d 'Time from SIGTERM to SIGKILL'
__redlock_run_option -l on-loss -x -a 'stop warn' -d 'What happens when the lock is lost'
__redlock_run_option -s o -l only-command -d 'Release when the command itself has ended'
__redlock_run_option -s r -l redis -x -d 'A server; repeat it for a quorum'
__redlock_run_option -l prefix -x -d 'What goes before the name in the key'
__redlock_run_option -l node-timeout -x -d 'Time for one answer of a server'
__redlock_run_option -l restart-grace -x -d 'Time without a vote for servers that have started'
__redlock_run_option -l password-file -r -F -d 'File with the password'
__redlock_run_option -l tls-ca -r -F -d 'Who signs the certificates of servers'
__redlock_run_option -l tls-cert -r -F -d 'Our certificate'
__redlock_run_option -l tls-key -r -F -d 'Its private key'
__redlock_run_option -l tls-server-name -x -d 'What the certificate of a server names'
__redlock_run_option -l config -r -F -d 'File with the settings of this site'
__redlock_run_option -l status -d 'Show locks'
__redlock_run_option -l watch -d 'With --status: again every second'
__redlock_run_option -l history -d 'Show the last runs'
__redlock_run_option -l since -x -d 'With --history: runs that began within that time'
__redlock_run_option -l failed -d 'With --history: runs that failed'
__redlock_run_option -l rows -x -d 'With --history: at most that many runs'
__redlock_run_option -l max-age -x -d 'With --history: check that the last success is not older'
__redlock_run_option -l break -d 'Take the lock away from a dead holder'
__redlock_run_option -l token -x -d 'With --break: which holder that is'
__redlock_run_option -l check -d 'Look whether the servers are fit for locks'
__redlock_run_option -l metrics -d 'Print gauges for Prometheus'
__redlock_run_option -l show-config -d 'Show the settings in force'
__redlock_run_option -l json -d 'The same for programs'
__redlock_run_option -l log -x -a 'stderr syslog' -d 'Where messages go'
__redlock_run_option -s q -l quiet -d 'Errors only'
__redlock_run_option -s v -l verbose -d 'Say what happens'
__redlock_run_option -s h -l help -d 'Print a summary of the options'
__redlock_run_option -s V -l version -d 'Print the version'

functions -e __redlock_run_option

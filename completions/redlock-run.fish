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
            case -k --key -w --wait --max-waiting -E --conflict-exit-code -m --message -t --ttl --max-ttl --min-hold --once-per \
                    --max-run --kill-after --on-loss -r --redis --prefix \
                    --node-timeout --restart-grace --password-file --slots \
                    --replicas --tls-ca --tls-cert --tls-key --tls-server-name \
                    --config --token --log --since --until --rows --max-age
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

# Names of locks, if the servers answer at once; of past runs, too, after
# --history.  Their URLs may have passwords, so they are in the environment: ps
# shows arguments to everybody.
function __redlock_run_names
    set -l words (commandline -opc)
    set -l server
    set -l urls
    set -l queries --status
    contains -- --history $words
    and set -a queries '--history --all --rows 1000000'
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
    for query in $queries
        timeout 0.5 redlock-run $server --node-timeout 0.4 --restart-grace 0 \
            (string split ' ' -- $query) --json 2>/dev/null
    end | string match -ra '\{"name":"([^"\\\\]*)"' -g
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
__redlock_run_option -s k -l key -x -a '(__redlock_run_names)' -d 'Lock to take; repeat it for several, all or none'
__redlock_run_option -s w -l wait -x -a inf -d 'Wait that long for our turn, or inf'
__redlock_run_option -s n -l nonblock -d 'Same as -w 0'
__redlock_run_option -l latest -d 'With -w: give up for a later run with --latest'
__redlock_run_option -l no-latest -d 'Undo --latest of the environment or a file'
__redlock_run_option -l max-waiting -x -d 'With -w: be busy at once if N runs wait already'
__redlock_run_option -s s -l shared -d 'Share the lock with other --shared runs'
__redlock_run_option -l slots -x -d 'Let up to N runs hold the lock'
__redlock_run_option -s E -l conflict-exit-code -x -d 'Exit status when the lock is busy'
__redlock_run_option -s m -l message -x -d 'Text to show wherever this run is the holder'
__redlock_run_option -s t -l ttl -x -d 'Lease, renewed every third of it'
__redlock_run_option -l max-ttl -x -d 'Let the lease grow with the run, up to that'
__redlock_run_option -l min-hold -x -d 'Keep the lock at least that long'
__redlock_run_option -l once-per -x -d 'Run only if no run succeeded in that time'
__redlock_run_option -l replicas -x -d 'Require N replicas to have the lock'
__redlock_run_option -l max-run -x -d 'Stop COMMAND then and exit 124'
__redlock_run_option -l kill-after -x -d 'Time from SIGTERM to SIGKILL'
__redlock_run_option -l on-loss -x -a 'stop warn' -d 'What to do when the lock is lost'
__redlock_run_option -s o -l only-command -d 'Do not wait for processes that COMMAND leaves'
__redlock_run_option -s r -l redis -x -d 'A server; repeat it for a quorum of 3 or 5 servers'
__redlock_run_option -l prefix -x -d 'Prefix of keys in Redis'
__redlock_run_option -l node-timeout -x -d 'Limit for one reply of a server'
__redlock_run_option -l restart-grace -x -d 'No vote for servers up for less'
__redlock_run_option -l password-file -r -F -d 'Passwords of hosts, one a line, or one password'
__redlock_run_option -l tls-ca -r -F -d 'Authorities to trust'
__redlock_run_option -l tls-cert -r -F -d 'Our certificate, if a server requires one'
__redlock_run_option -l tls-key -r -F -d 'Private key of our certificate'
__redlock_run_option -l tls-server-name -x -d 'Name in server certificates'
__redlock_run_option -l config -r -F -d 'File of settings'
__redlock_run_option -l status -d 'Show who holds and who waits for the locks'
__redlock_run_option -l watch -d 'With --status: redraw it every second, until q'
__redlock_run_option -l history -d 'Show the last runs'
__redlock_run_option -l since -x -a 'today yesterday' -d 'With --history: runs that began then or later'
__redlock_run_option -l until -x -a 'today yesterday' -d 'With --history: runs that began then or earlier'
__redlock_run_option -l failed -d 'With --history: runs that did not exit with 0'
__redlock_run_option -l all -d 'With --history: also runs that were skipped'
__redlock_run_option -l rows -x -d 'With --history: at most N runs'
__redlock_run_option -l max-age -x -d 'With --history: check for a success in that time'
__redlock_run_option -l break -d 'Break the lock of a dead holder'
__redlock_run_option -l token -x -d 'With --break: token of the dead holder'
__redlock_run_option -l check -d 'Test whether the servers are fit for locks'
__redlock_run_option -l metrics -d 'Print gauges for Prometheus'
__redlock_run_option -l show-config -d 'Show settings in force and their origins'
__redlock_run_option -l json -d 'Print JSON'
__redlock_run_option -l log -x -a 'stderr syslog' -d 'Where a run reports'
__redlock_run_option -s q -l quiet -d 'Report errors only, not even a busy lock'
__redlock_run_option -s v -l verbose -d 'Report each step and how long it took'
__redlock_run_option -s h -l help -d 'Print all options, or with -h the main ones'
__redlock_run_option -s V -l version -d 'Print versions and whether TLS works'

functions -e __redlock_run_option

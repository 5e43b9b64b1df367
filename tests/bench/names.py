"""Names: what --status, --history and --metrics of many locks take: the time,
what they send, the time of Redis's thread, and their memory.  Each lock is held
and has one run in its history."""

import os
import statistics
import time

from runner import in_turns, say, spread
from server import Server

MODES = ["--status", "--history", "--metrics"]
FILL = """
for i = 1, ARGV[1] do
    local function value(run)
        return string.format('redlock-run/2 token=%08d-0000-4000-8000-%012d ' ..
            'try=1 since=%.0f pid=4242 host=web1.example.org user=deploy ' ..
            'command=backup.sh ttl=60000 start=12345678', run, i,
            (ARGV[2] - run * 10) * 1e3)
    end
    local lock = string.format('redlock:job%06d', i)
    local beside = '{' .. lock .. '}:~'
    redis.call('SET', lock, value(1), 'PX', 600000)
    redis.call('SET', beside .. 'fence', '1700000000000')
    redis.call('XADD', beside .. 'runs', '*', 'start', value(2) .. ' waited=0')
    redis.call('XADD', beside .. 'runs', '*', 'end', value(2) ..
        ' waited=0 ran=5000 ended=exited status=0')
    redis.call('XADD', beside .. 'runs', '*', 'start', value(1) .. ' waited=0')
end
"""


def sent(server):
    stats = server("INFO", "stats").decode()
    return int(stats.split("total_net_input_bytes:")[1].split()[0])


def ask(bench, server, mode):
    """Milliseconds; and how many kB the program had at most."""
    output = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    began = time.monotonic()
    pid = bench.spawn(bench.program, mode, "--node-timeout", "10s", "-t", "60s",
                      env=bench.env | {"REDLOCK_REDIS": server.url},
                      files=output)
    _, status, usage = os.wait4(pid, 0)
    bench.children.discard(pid)
    if status != 0:
        raise SystemExit(f"bench: {mode}: status {status}")
    return (time.monotonic() - began) * 1e3, usage.ru_maxrss


def measure(bench, n, modes, rounds):
    """The median milliseconds of each mode."""
    server = Server(bench)
    server("EVAL", FILL, "0", n, int(time.time()))
    kb = {}

    def task(mode):
        took, kb[mode] = ask(bench, server, mode)
        return took
    times = in_turns(rounds, {mode: lambda mode=mode: task(mode)
                              for mode in modes}, 1)
    for mode in modes:
        server("CONFIG", "RESETSTAT")
        ask(bench, server, mode)
        _, us = server.calls("eval", "evalsha", "scan")
        say(f"names: {mode} of {n}: {spread(times[mode], 'ms')}, "
            f"{sent(server) / 1e6:.1f} MB sent, {us / 1e3:.0f} ms of Redis, "
            f"{kb[mode] / 1024:.0f} MB of memory")
    server.stop()
    bench.servers.remove(server)
    return {mode: statistics.median(times[mode]) for mode in modes}


def run(bench):
    measure(bench, 10_000, MODES, bench.rounds(20))
    measure(bench, 100_000, MODES, bench.rounds(5))

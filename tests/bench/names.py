"""Names: what --status, --history and --metrics of many locks take: the time,
what they send, the time of Redis's thread, and their memory.  Each lock is held
and has one run in its history."""

import os
import statistics
import subprocess
import sys
import time

from runner import in_turns, say, spread
from server import Server

MODES = ["--status", "--history", "--metrics"]
FILL = """
for i = 1, ARGV[1] do
    local function since(run)
        return string.format('%.0f', (ARGV[2] - run * 10) * 1e3)
    end
    local function value(run)
        return string.format('redlock-run/2 token=%08d-0000-4000-8000-%012d ' ..
            'try=1 since=%s pid=4242 host=web1.example.org user=deploy ' ..
            'command=backup.sh ttl=60000 start=12345678', run, i, since(run))
    end
    local lock = string.format('redlock:job%06d', i)
    local beside = '{' .. lock .. '}:~'
    redis.call('SET', lock, value(1), 'PX', 600000)
    redis.call('SET', beside .. 'fence', '1700000000000')
    redis.call('XADD', beside .. 'runs', since(2), 'start', value(2) .. ' waited=0')
    redis.call('XADD', beside .. 'runs', since(1.5), 'end', value(2) ..
        ' waited=0 ran=5000 ended=exited status=0')
    redis.call('XADD', beside .. 'runs', since(1), 'start', value(1) .. ' waited=0')
end
"""


def sent(server):
    stats = server("INFO", "stats").decode()
    return int(stats.split("total_net_input_bytes:")[1].split()[0])


# A process counts the peak of the one that spawned it as its own.
PEAK = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)
"""


def words(bench, mode):
    return [bench.program, mode, "--node-timeout", "10s", "-t", "60s"]


def ask(bench, mode, env):
    """Microseconds."""
    return bench.take(*words(bench, mode), env=env, files=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])


def peak(bench, mode, env):
    """How many kB the program has at most; 10 MB are the least to be seen."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", PEAK,
                           *words(bench, mode)], env=env, check=True,
                          stdout=subprocess.PIPE)
    return int(done.stdout)


def measure(bench, n, modes, rounds):
    """The median milliseconds of each mode."""
    server = Server(bench)
    server("EVAL", FILL, "0", n, int(time.time()))
    env = bench.env | {"REDLOCK_REDIS": server.url}
    times = in_turns(rounds, {mode: lambda mode=mode: ask(bench, mode, env) / 1e3
                              for mode in modes}, 1)
    for mode in modes:
        server("CONFIG", "RESETSTAT")
        kb = peak(bench, mode, env)
        _, us = server.calls("eval", "evalsha", "scan")
        say(f"names: {mode} of {n}: {spread(times[mode], 'ms')}, "
            f"{sent(server) / 1e6:.1f} MB sent, {us / 1e3:.0f} ms of Redis, "
            f"{kb / 1024:.0f} MB of memory")
    server.stop()
    bench.servers.remove(server)
    return {mode: statistics.median(times[mode]) for mode in modes}


def run(bench):
    measure(bench, 10_000, MODES, bench.rounds(20))
    measure(bench, 100_000, MODES, bench.rounds(5))

"""Hand-over: the time from the end of one COMMAND to the begin of the next,
whole processes, with ten that wait for their turn: of redlock-run -w, and of
flock(1) on a file."""

import os
import statistics
import time

from runner import in_turns, ratio, say, spread, text
from server import Server

WAITERS = 10


def until(condition, pids, limit=60):
    began = time.monotonic()
    while not condition():
        for pid in pids:
            os.kill(pid, 0)
        if time.monotonic() - began > limit:
            raise SystemExit("bench: the waiters do not wait")
        time.sleep(0.005)


def asleep(pid):
    """It sleeps in the kernel, and has no COMMAND yet."""
    return (text(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] == ["S"]
            and not text(f"/proc/{pid}/task/{pid}/children"))


def gaps(bench, waits, lock, waiters=WAITERS, env=None):
    """The times between the turns of as many waiters; `lock` is the command
    that a turn is put behind, waits(pids) tells whether all of them wait."""
    turns, go = bench.path("turns"), bench.path("go")
    for path in (turns, go):
        if os.path.exists(path):
            os.unlink(path)
    turn = bench.path("turn")
    first = bench.spawn(*lock, turn, turns, go, env=env)
    until(lambda: text(turns), [first])
    pids = [bench.spawn(*lock, turn, turns, env=env) for _ in range(waiters)]
    until(lambda: waits(pids), pids)
    # What the last of them does after it has joined is not measured.
    time.sleep(0.05)
    with open(go, "w"):
        pass
    for pid in [first, *pids]:
        bench.wait(pid)
    lines = [tuple(map(int, line.split())) for line in
             text(turns).splitlines()]
    stamps = sorted(line for line in lines if line != (0, 0))
    if len(stamps) != waiters + 1:
        raise SystemExit("bench: not every waiter had its turn")
    return [after[0] - before[1] for before, after in zip(stamps, stamps[1:])]


def lock_in_redis(bench, server):
    """The command, its environment, and how one sees that all wait."""
    return ((bench.program, "-q", "-k", "k", "-w", "inf", "--"),
            bench.env | {"REDLOCK_REDIS": server.url},
            lambda pids: server("ZCARD", "{redlock:k}:~queue") == len(pids))


def lock_in_file(bench):
    return (("flock", bench.path("file")), bench.env,
            lambda pids: all(asleep(pid) for pid in pids))


def run(bench):
    server = Server(bench)
    bench.compile("turn", "-static")
    ways = {"ours": lock_in_redis(bench, server), "flock": lock_in_file(bench)}
    tasks = {name: lambda way=way: statistics.median(
                 gaps(bench, way[2], way[0], env=way[1]))
             for name, way in ways.items()}
    times = in_turns(bench.rounds(100), tasks, warm_up=1)
    for name in tasks:
        say(f"handover: {name}: {spread(times[name])}")
    say(f"handover: {ratio(times['ours'], times['flock'])} x flock")
    return times

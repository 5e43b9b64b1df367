"""Versions: three clients of this version and three of another want one lock, again
and again: each version's share of the turns, its longest time without one, and
the longest time in which no COMMAND starts.  The other version is PARTNER, or
what tests/versions/later builds."""

import os
import subprocess
import time

from runner import say
from server import Server

CLIENTS = 3
SECONDS = 15
WORK = 'echo "$1 $(date +%s%N)" >>"$2"; sleep 0.05'


def other_version(bench):
    if os.environ.get("PARTNER"):
        return os.path.realpath(os.environ["PARTNER"])
    later = os.path.join(bench.sources, "../versions/later")
    subprocess.run([later, bench.path("later")], check=True,
                   stdout=subprocess.DEVNULL)
    return bench.path("later/redlock-run")


def contend(bench, programs, servers, log):
    """Lets them take the lock for SECONDS."""
    env = bench.env | {
        "REDLOCK_REDIS": " ".join(server.url for server in servers),
        "REDLOCK_RESTART_GRACE": "0"}
    clients = {}

    def start(name):
        pid = bench.spawn(programs[name], "-q", "-k", "turns", "-w", "inf",
                          "-t", "10s", "--", "sh", "-c", WORK, "sh", name, log,
                          env=env)
        clients[pid] = name

    for name in [*programs] * CLIENTS:
        start(name)
    end = time.monotonic() + SECONDS * bench.scale
    while clients:
        pid, status = os.waitpid(-1, 0)
        if pid not in clients:
            raise SystemExit("bench: a server ended")
        bench.children.discard(pid)
        name = clients.pop(pid)
        if status != 0:
            raise SystemExit(f"bench: versions: {name}: status "
                             f"{os.waitstatus_to_exitcode(status)}")
        if time.monotonic() < end:
            start(name)


def longest_gap(times):
    return max(b - a for a, b in zip(times, times[1:])) / 1e9


def measure(bench, programs, n):
    servers = [Server(bench) for _ in range(n)]
    log = bench.path(f"turns{n}")
    contend(bench, programs, servers, log)
    with open(log, encoding="ascii") as file:
        turns = [(name, int(ns)) for name, ns in map(str.split, file)]
    times = [ns for _, ns in turns]
    parts = []
    for name in programs:
        own = [ns for whose, ns in turns if whose == name]
        parts.append(f"{name} {100 * len(own) / len(turns):.0f} %, at most "
                     f"{longest_gap([times[0], *own, times[-1]]):.2f} s without "
                     "a turn")
    say(f"versions, {n} server{'s' * (n > 1)}: {len(turns)} turns; "
        f"{'; '.join(parts)}; no start for at most {longest_gap(times):.2f} s")


def run(bench):
    programs = {"this": bench.program,
                "other": other_version(bench)}
    for n in (1, 3):
        measure(bench, programs, n)

"""Quorum: what frozen servers cost: the time from the exec of redlock-run to
the first instruction of COMMAND, with two of five servers stopped, against that
with all of them awake."""

import os
import signal

from runner import in_turns, ratio, say, spread, text
from server import Server


def servers(bench, n):
    """On the same port of several addresses."""
    first = Server(bench)
    return [first, *(Server(bench, f"127.0.0.{i}", first.port)
                     for i in range(2, n + 1))]


def to_command(bench, some):
    """Microseconds from the exec to COMMAND."""
    stamp, file = bench.path("stamp"), bench.path("stamps")
    bench.take(stamp, bench.program, "-k", "k", "--restart-grace", "0", "--",
               stamp, env=bench.env | {
                   "REDLOCK_REDIS": " ".join(s.url for s in some),
                   "STAMPS": file})
    return int(text(file))


def run(bench):
    five = servers(bench, 5)
    bench.compile("stamp", "-static")
    turn = 0

    def frozen():
        """Not always the same two."""
        nonlocal turn
        turn += 1
        two = [five[turn % 5], five[(turn + 2) % 5]]
        for server in two:
            os.kill(server.process.pid, signal.SIGSTOP)
        try:
            return to_command(bench, five)
        finally:
            for server in two:
                os.kill(server.process.pid, signal.SIGCONT)
            for server in five:
                server("PING")

    times = in_turns(bench.rounds(500), {
        "awake": lambda: to_command(bench, five), "frozen": frozen}, 5)
    say(f"quorum: 5 servers awake: {spread(times['awake'])}, 2 of 5 frozen: "
        f"{spread(times['frozen'])}")
    say(f"quorum: {ratio(times['frozen'], times['awake'])} x with 2 of 5 "
        "servers frozen")

"""Start: the wall time of `redlock-run -k k -- true`, against that of `flock
FILE true` and of the floor."""

import os

from runner import in_turns, ratio, say, spread
from server import Server


def run(bench):
    server = Server(bench)
    env = bench.env | {"REDLOCK_REDIS": server.url}
    floor = bench.compile("floor")
    true = "/bin/true" if os.path.exists("/bin/true") else "true"
    tasks = {
        "ours": lambda: bench.take(bench.program, "-k", "k", "--", true,
                                   env=env),
        "flock": lambda: bench.take("flock", bench.path("file"), true),
        "floor": lambda: bench.take(floor, str(server.port), "floor", true),
    }
    times = in_turns(bench.rounds(3000), tasks, warm_up=20)
    for name in tasks:
        say(f"start: {name}: {spread(times[name])}")
    for name in ("flock", "floor"):
        say(f"start: {ratio(times['ours'], times[name])} x {name}")
    return times

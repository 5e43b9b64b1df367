"""Loss: from the DEL of a lock's key by another client to the SIGTERM that COMMAND
gets, where the server pushes changes; what the watched key costs a renewal; and
the scripts of two holders of slots."""

import os
import time

from runner import say, skip, spread, text
from scripts import cost
from server import Server, encode
from traffic import TOKEN, recorded

AT_ONCE = 20  # holders, each of a lock of its own
MOST_MS = 20
LEASE = "60s"


class Watched:
    """A server to which scripts go on a connection of their own, with pushes."""

    def __init__(self, server):
        self.connection = server.connect()
        self.ask, self.calls = server, server.calls
        # The reply is a map, which Connection does not read.
        self.connection.send(encode("HELLO", 3))
        time.sleep(0.1)
        self.connection.socket.recv(1 << 16)
        self.connection("CLIENT", "TRACKING", "ON", "NOLOOP")

    def __call__(self, *words):
        return self.ask(*words)


def watched(server):
    """How many connections have switched pushes on."""
    return sum(" flags=" in line and "t" in line.split(" flags=")[1].split()[0]
               for line in server("CLIENT", "LIST").decode().splitlines())


def until(condition, what):
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > 60:
            raise SystemExit(f"bench: {what}")
        time.sleep(0.01)


def losses(bench, server, n):
    """Microseconds from before the DEL to the SIGTERM, of n holders."""
    env = bench.env | {"REDLOCK_REDIS": server.url}
    silent = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    took = []
    while len(took) < n:
        pids = {}
        for i in range(min(AT_ONCE, n - len(took))):
            pids[i] = bench.spawn(bench.program, "-q", "-k", f"k{i}", "-t",
                                  LEASE, "--", bench.path("term"),
                                  bench.path(f"term{i}"), env=env,
                                  files=silent)
        until(lambda: watched(server) == len(pids), "no pushes")
        time.sleep(0.05)
        for i, pid in pids.items():
            began = time.monotonic_ns() // 1000
            server("DEL", f"redlock:k{i}")
            if bench.wait(pid) != 79:
                raise SystemExit("bench: the loss was not noticed")
            took.append(int(text(bench.path(f"term{i}"))) - began)
            os.unlink(bench.path(f"term{i}"))
    return took


def renewals(bench, server):
    """The cost of a renewal that reads the watched key, on a connection to
    which changes are pushed, and of one before there were pushes."""
    n = bench.rounds(3000)
    acquire, watching, *_, release = recorded(bench, server)
    server("ACL", "SETUSER", "default", "-client|tracking")
    _, plain, again, *_ = recorded(bench, server)
    server("ACL", "SETUSER", "default", "+@all")
    plain = again if b"\r\n$1\r\n3\r\n" in plain else plain
    server.connection.ask(acquire)
    costs = {"without": cost(server, [of_same(plain, watching)] * n)}
    costs["with"] = cost(Watched(server), [watching] * n)
    server.connection.ask(release)
    return costs


def of_same(request, other):
    """The request of one run, with the token of another."""
    token = TOKEN.search(other).group()
    return TOKEN.sub(token, request)


def scripts_of_slots(bench, server, seconds):
    """How many scripts two holders of slots send in that time."""
    env = bench.env | {"REDLOCK_REDIS": server.url}
    pids = [bench.spawn(bench.program, "-q", "-k", "k", "-t", "3s", "--slots",
                        "2", "--", "sleep", "1000", env=env)
            for _ in range(2)]
    time.sleep(1)
    server("CONFIG", "RESETSTAT")
    time.sleep(seconds)
    n, _ = server.calls("eval", "evalsha")
    for pid in pids:
        bench.kill(pid)
    return n


def run(bench):
    if "Pushes: yes" not in bench.versions():
        skip("loss", "this hiredis parses no pushes")
        return
    server = Server(bench)
    bench.compile("term", "-static")
    us = sorted(losses(bench, server, bench.rounds(1000)))
    p99 = us[len(us) * 99 // 100]
    say(f"loss: DEL to SIGTERM: {spread(us)}, p99 {p99 / 1e3:.1f} ms "
        f"(at most {MOST_MS}), longest {us[-1] / 1e3:.1f} ms, {len(us)} runs, "
        f"{sum(t > 1e6 for t in us)} of them after a second")
    costs = renewals(bench, server)
    say(f"loss: renewal, hot: {costs['with']:.1f} us with a watched key, "
        f"{costs['without']:.1f} us without")
    seconds = 5 * max(1, round(bench.scale))
    n = scripts_of_slots(bench, server, seconds)
    server("ACL", "SETUSER", "default", "-client|tracking")
    plain = scripts_of_slots(bench, server, seconds)
    server("ACL", "SETUSER", "default", "+@all")
    say(f"loss: two holders of slots: {n} scripts in {seconds} s, "
        f"{plain} without pushes")
    return us

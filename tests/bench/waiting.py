"""Waiting: what it takes that many wait for one lock: the memory of each, what
they ask of the server while nothing happens, how busy it is, and the time until
all of them have been served, in turn."""

import time

from handover import until
from memory import pss
from runner import say, spread
from server import Server
from traffic import of_token, recorded, with_ttl

SLOTS = 64


def waiters(bench, server, n, *options):
    """As many that wait for the lock "held"."""
    server("CONFIG", "SET", "maxclients", n + 200)
    pids = [bench.spawn(bench.program, "-q", "-k", "held", "-w", "inf",
                        *options, "--", "true",
                        env=bench.env | {"REDLOCK_REDIS": server.url})
            for _ in range(n)]
    until(lambda: server("ZCARD", "{redlock:held}:~queue") == n
          and server.info("clients")["blocked_clients"] == str(n), pids, 300)
    return pids


def crowd(bench, server, n):
    """The holder of a lock, and as many that wait for it."""
    holder = bench.spawn(bench.program, "-k", "held", "-t", "60s", "--",
                         "sleep", "1000",
                         env=bench.env | {"REDLOCK_REDIS": server.url})
    until(lambda: server("EXISTS", "redlock:held"), [holder])
    return holder, waiters(bench, server, n)


def idle(server, n, seconds):
    """Commands per second and waiter, and how busy Redis is with them."""
    server("CONFIG", "RESETSTAT")
    cpu = server.cpu_seconds()
    time.sleep(seconds)
    calls, _ = server.calls("eval", "evalsha", "blpop")
    return calls / seconds / n, (server.cpu_seconds() - cpu) / seconds


def serve_all(bench, server, holder, pids):
    """Microseconds and scripts for each of them."""
    server("CONFIG", "RESETSTAT")
    began = time.monotonic()
    bench.kill(holder)
    for pid in pids:
        if bench.wait(pid) != 0:
            raise SystemExit("bench: a waiter was not served")
    took = (time.monotonic() - began) * 1e6
    calls, _ = server.calls("eval", "evalsha")
    return took / len(pids), calls / len(pids)


def run(bench):
    server = Server(bench)
    n = bench.rounds(1000)
    holder, pids = crowd(bench, server, n)
    say(f"waiting: {n} waiters: Pss {spread([pss(p) for p in pids], 'kB')}")
    calls, busy = idle(server, n, max(6, 20 * bench.scale))
    say(f"waiting: {calls:.2f} commands per second and waiter while nothing "
        f"happens, Redis {busy:.1%} busy")
    us, scripts = serve_all(bench, server, holder, pids)
    say(f"waiting: all served, {us:.0f} us and {scripts:.1f} scripts for each")
    wait_for_slots(bench, n)


def wait_for_slots(bench, n):
    """As many that wait for 64 slots, all of them taken."""
    server = Server(bench)
    options = ("--slots", str(SLOTS))
    acquire, *_ = recorded(bench, server, *options, name="held")
    for i in range(SLOTS):
        server.connection.ask(of_token(with_ttl(acquire, 600000), i))
    pids = waiters(bench, server, n, *options)
    calls, busy = idle(server, n, max(6, 20 * bench.scale))
    say(f"waiting: {n} waiters for {SLOTS} slots: {calls:.2f} commands per second "
        f"and waiter, Redis {busy:.1%} busy")
    for pid in pids:
        bench.kill(pid)

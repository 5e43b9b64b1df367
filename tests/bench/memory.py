"""Memory: what redlock-run takes while it holds a lock: the proportional set
size (Pss) of itself and of its guard, and their private dirty pages; and the
processor time and the wake-ups of both, with one process of COMMAND and with 50,
and of a run that waits."""

import os
import time

from runner import say, text
from server import Server


def pss(pid, without=None):
    """kB; without the files with that in their path."""
    kb, counts = 0, True
    for line in text(f"/proc/{pid}/smaps").splitlines():
        if not line.split()[0].endswith(":"):
            counts = without is None or without not in line
        elif line.startswith("Pss:") and counts:
            kb += int(line.split()[1])
    return kb


def private_dirty(pid):
    """kB"""
    return sum(int(line.split()[1]) for line in
               text(f"/proc/{pid}/smaps_rollup").splitlines()
               if line.startswith("Private_Dirty:"))


def switches(pid):
    return sum(int(line.split()[1]) for line in
               text(f"/proc/{pid}/status").splitlines() if "ctxt_swi" in line)


def cpu_ms(pid):
    return int(text(f"/proc/{pid}/schedstat").split()[0]) / 1e6


def guard_of(holder):
    for pid in text(f"/proc/{holder}/task/{holder}/children").split():
        if text(f"/proc/{pid}/comm").strip() == "redlock-guard":
            return int(pid)
    return None


def hold(bench, server, name, *command):
    """Returns a run that holds the lock, and its guard."""
    holder = bench.spawn(bench.program, "-k", name, "--", *command,
                         env=bench.env | {"REDLOCK_REDIS": server.url})
    while not (guard := guard_of(holder)):
        os.kill(holder, 0)
        time.sleep(0.05)
    return holder, guard


def hour(bench, what, pids):
    """What an hour costs, from the minute after the guard has settled: the
    milliseconds of processor time."""
    time.sleep(12)
    before = [(cpu_ms(pid), switches(pid)) for pid in pids]
    began = time.monotonic()
    time.sleep(bench.rounds(60))
    took = time.monotonic() - began
    ms, wakes = ([(now - then[kind]) / took for now, then in
                  zip([count(pid) for pid in pids], before)]
                 for kind, count in enumerate((cpu_ms, switches)))
    of_guard = (f" (guard {ms[1] * 3600:.0f} ms, {wakes[1]:.2f})"
                if len(pids) > 1 else "")
    say(f"memory: an hour's {what}: {sum(ms) * 3600:.0f} ms of CPU, "
        f"{sum(wakes):.2f} wake-ups a second{of_guard}")
    return sum(ms) * 3600


def hours(bench):
    """An hour's hold, with one process and with 50, and an hour's wait."""
    server = Server(bench)
    pair = hold(bench, server, "held", "sleep", "1000")
    time.sleep(1)
    own, other = (pss(pid) for pid in pair)
    rest = sum(pss(pid, "/libc.so") for pid in pair)
    say(f"memory: {own + other} kB (redlock-run {own} kB, its guard "
        f"{other} kB), without libc {rest} kB")
    waiter = bench.spawn(bench.program, "-q", "-k", "held", "-w", "inf", "--",
                         "true", env=bench.env | {"REDLOCK_REDIS": server.url})
    rows = [("hold", hour(bench, "hold", pair)),
            ("wait", hour(bench, "wait", [waiter]))]
    say(f"memory: {sum(private_dirty(pid) for pid in pair)} kB private and dirty, "
        f"redlock-run and its guard together; a waiter "
        f"{private_dirty(waiter)} kB")
    bench.kill(waiter)
    bench.kill(pair[0])
    pair = hold(bench, server, "many", "sh", "-c", "for i in $(seq 49); do "
                "sleep 1000 & done; wait")
    rows.insert(1, ("hold, 50 processes",
                    hour(bench, "hold with 50 processes", pair)))
    bench.kill(pair[0])
    server.stop()
    bench.servers.remove(server)
    return rows


def run(bench):
    hours(bench)

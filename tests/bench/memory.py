"""Memory: what redlock-run takes while it holds a lock: the proportional set
size (Pss) of itself and of its guard; and the processor time and the wake-ups of
both, with one process of COMMAND and with 50."""

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


def hour(bench, pair, processes):
    """What an hour costs, from the minute after the guard has settled."""
    time.sleep(12)
    before = [(cpu_ms(pid), switches(pid)) for pid in pair]
    began = time.monotonic()
    time.sleep(bench.rounds(60))
    took = time.monotonic() - began
    ms, wakes = ([(now - then[kind]) / took for now, then in
                  zip([what(pid) for pid in pair], before)]
                 for kind, what in enumerate((cpu_ms, switches)))
    say(f"memory: an hour's hold with {processes}: {sum(ms) * 3600:.0f} ms of "
        f"CPU (guard {ms[1] * 3600:.0f}); wake-ups a second: redlock-run "
        f"{wakes[0]:.2f}, its guard {wakes[1]:.2f}")


def run(bench):
    server = Server(bench)
    pair = hold(bench, server, "held", "sleep", "1000")
    time.sleep(1)
    own, other = (pss(pid) for pid in pair)
    rest = sum(pss(pid, "/libc.so") for pid in pair)
    say(f"memory: {own + other} kB (redlock-run {own} kB, its guard "
        f"{other} kB), without libc {rest} kB")
    hour(bench, pair, "one process")
    os.kill(pair[0], 15)
    pair = hold(bench, server, "many", "sh", "-c", "for i in $(seq 49); do "
                "sleep 1000 & done; wait")
    hour(bench, pair, "50 processes")

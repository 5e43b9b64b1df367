"""Memory: what redlock-run takes while it holds a lock: the proportional set
size (Pss) of itself and of its guard; and how often both wake up."""

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


def guards(bench, server, holder):
    """Our program under another name, for the same server."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (os.readlink(f"/proc/{pid}/exe") == bench.program
                    and int(pid) != holder and f"REDLOCK_REDIS={server.url}\0"
                    in text(f"/proc/{pid}/environ")):
                found.append(int(pid))
        except OSError:
            pass
    return found


def run(bench):
    server = Server(bench)
    holder = bench.spawn(bench.program, "-k", "held", "-t", "60s", "--",
                         "sleep", "1000",
                         env=bench.env | {"REDLOCK_REDIS": server.url})
    while not (guard := guards(bench, server, holder)):
        os.kill(holder, 0)
        time.sleep(0.05)
    time.sleep(1)
    own, other = pss(holder), pss(guard[0])
    rest = sum(pss(pid, "/libc.so") for pid in (holder, guard[0]))
    say(f"memory: {own + other} kB (redlock-run {own} kB, its guard "
        f"{other} kB), without libc {rest} kB")
    before = switches(holder), switches(guard[0])
    time.sleep(5)
    after = switches(holder), switches(guard[0])
    say("memory: wake-ups per second between renewals: "
        f"redlock-run {(after[0] - before[0]) / 5:.1f}, "
        f"its guard {(after[1] - before[1]) / 5:.1f}")

"""What every measurement needs: the machine and who measures on it, the order
of the runs, and what is said of their times."""

import gc
import os
import platform
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PRIORITY = 10


def text(path, default=""):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return default


def output(*command):
    """The first line that a command prints, or nothing."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout.strip() or done.stderr.strip()).partition("\n")[0]


def first_in_line():
    """Puts us, and so all that we start, ahead of whatever else the machine
    does; says whether we may."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        return True
    except PermissionError:
        return False


class Bench:
    """A directory and an environment of its own."""

    def __init__(self):
        here = os.path.dirname(os.path.abspath(__file__))
        self.sources = here
        self.program = os.path.realpath(os.environ.get(
            "REDLOCK_RUN", os.path.join(here, "../../redlock-run")))
        self.directory = tempfile.mkdtemp(prefix="redlock-bench.")
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("REDLOCK_")
                    and name != "REDISCLI_AUTH"}
        self.env["REDLOCK_CONFIG"] = "/dev/null"
        self.servers = []
        self.children = set()
        self.scale = float(os.environ.get("SCALE", "1"))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.real_time = first_in_line()
        gc.disable()

    def rounds(self, n):
        """n, or what SCALE makes of it."""
        return max(3, round(n * self.scale))

    def path(self, name):
        return os.path.join(self.directory, name)

    def compile(self, name, *flags):
        """The helper tests/bench/NAME.c, compiled."""
        subprocess.run([os.environ.get("CC") or "cc", "-O2", *flags,
                        "-o", self.path(name),
                        os.path.join(self.sources, name + ".c")], check=True)
        return self.path(name)

    def spawn(self, *command, env=None, files=()):
        path = shutil.which(command[0]) or command[0]
        pid = os.posix_spawn(path, command, env or self.env,
                             file_actions=files)
        self.children.add(pid)
        return pid

    def wait(self, pid):
        _, status = os.waitpid(pid, 0)
        self.children.discard(pid)
        return os.waitstatus_to_exitcode(status)

    def take(self, *command, env=None, files=()):
        """Microseconds that a command takes, from before its start until its
        status is known.  It has to succeed."""
        path = shutil.which(command[0]) or command[0]
        env = env or self.env
        began = time.monotonic_ns()
        pid = os.posix_spawn(path, command, env, file_actions=files)
        _, status = os.waitpid(pid, 0)
        us = (time.monotonic_ns() - began) / 1e3
        if status != 0:
            sys.exit(f"bench: {' '.join(command)}: status "
                     f"{os.waitstatus_to_exitcode(status)}")
        return us

    def kill(self, pid):
        """Ends a child, even one that is stopped."""
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        return self.wait(pid)

    def close(self):
        for pid in list(self.children):
            self.kill(pid)
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def versions(self):
        """All that the program says of its versions."""
        return subprocess.run([self.program, "-V"], capture_output=True,
                              text=True).stdout

    def describe(self):
        """The machine, the versions and the date, as one has to quote them."""
        cpu = [line.split(":")[1].strip()
               for line in text("/proc/cpuinfo").splitlines()
               if line.startswith("model name")]
        load = os.getloadavg()[0]
        print(f"date: {time.strftime('%Y-%m-%d')}")
        print(f"machine: {os.cpu_count()} x {cpu[0] if cpu else 'CPU'}, "
              f"{platform.system()} {platform.release()}")
        print(f"versions: {output(self.program, '-V')}; "
              f"{output('redis-server', '--version')}; "
              f"{output('flock', '--version')}")
        print("priority: " + (f"real-time, SCHED_FIFO {PRIORITY}"
                              if self.real_time else "ordinary (not root)"))
        if load > 0.5 * os.cpu_count():
            print(f"load: {load:.1f}: others use this machine; do not quote "
                  "these figures")
        sys.stdout.flush()


def in_turns(rounds, tasks, warm_up=2):
    """Runs tasks (a dict of functions that return a time) as many rounds, all of
    them in each round and in random order: no machine is equally fast for
    long, and nobody shall always come after the same other."""
    times = {name: [] for name in tasks}
    for n in range(-warm_up, rounds):
        order = list(tasks)
        random.shuffle(order)
        for name in order:
            took = tasks[name]()
            if n >= 0:
                times[name].append(took)
    return times


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return statistics.quantiles(values, n=4, method="inclusive")


def spread(values, unit="us"):
    """Median and quartiles."""
    low, middle, high = quartiles(values)
    digits = 0 if middle >= 100 else 1
    return f"{middle:.{digits}f} {unit} [{low:.{digits}f} to {high:.{digits}f}]"


def ratio(ours, theirs):
    """The ratio of the medians, and the quartiles of the rounds' own."""
    low, _, high = quartiles([a / b for a, b in zip(ours, theirs)])
    return (f"{statistics.median(ours) / statistics.median(theirs):.2f} "
            f"[{low:.2f} to {high:.2f}]")


def say(line):
    print(line, flush=True)


def skip(what, why):
    say(f"skipped: {what}: {why}")

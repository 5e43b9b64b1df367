"""Growth: how cost grows with waiters, servers, slots and locks, and what other
tools cost: tables, and a plot of them in $SVG (man/growth.svg) by gnuplot."""

import os
import shutil
import statistics
import subprocess
import time

from handover import gaps, lock_in_file, lock_in_redis, until
from quorum import servers
from traffic import by_digest, of_another, recorded, with_ttl
from runner import in_turns, quartiles, say, skip
from scripts import of_slots
from server import Server, connections_allowed
from waiting import crowd, serve_all

RENEWALS = 20			# seconds between two of one lock at TTL 60 s
CONNECTIONS = 1000


def table(title, head, rows):
    say("")
    say(title)
    say("  ".join(f"{name:>15}" for name in head))
    for row in rows:
        say("  ".join(f"{cell:>15}" if isinstance(cell, str) else
                      f"{cell:>15.0f}" if cell >= 100 else f"{cell:>15.3g}"
                      for cell in row))
    return rows


class Etcd:
    """An etcd of our own, on free ports, which nobody else asks."""

    def __init__(self, bench):
        self.port = Server(bench).port + 12000
        peer = f"http://127.0.0.1:{self.port + 12000}"
        self.url = f"http://127.0.0.1:{self.port}"
        self.pid = bench.spawn(
            "etcd", "--data-dir", bench.path("etcd"), "--log-level", "error",
            "--listen-client-urls", self.url, "--advertise-client-urls",
            self.url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls",
            peer, "--initial-cluster", f"default={peer}",
            files=[(os.POSIX_SPAWN_OPEN, 2, bench.path("etcd.log"),
                    os.O_WRONLY | os.O_CREAT, 0o666)])
        until(lambda: self.ask("endpoint", "health").returncode == 0,
              [self.pid])

    def ask(self, *words):
        return subprocess.run(["etcdctl", f"--endpoints={self.url}", *words],
                              env=os.environ | {"ETCDCTL_API": "3"},
                              capture_output=True, text=True)

    def waiters(self):
        keys = self.ask("get", "--prefix", "k/", "--keys-only").stdout
        return len(keys.split()) - 1


def python_with_redis():
    for python in ("python3", "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run(
                [python, "-c", "import redis"],
                capture_output=True).returncode == 0:
            return shutil.which(python)
    return None


def ways(bench, server):
    """The tools that are here: command, environment, and how one sees that all
    wait (nobody sees that of those that poll; they get half a second)."""
    def polls(_):
        time.sleep(0.5)
        return True

    found = {"redlock-run": lock_in_redis(bench, server),
             "flock": lock_in_file(bench)}
    if shutil.which("etcd") and shutil.which("etcdctl"):
        etcd = Etcd(bench)
        found["etcdctl lock"] = (
            ("etcdctl", f"--endpoints={etcd.url}", "lock", "k"),
            bench.env | {"ETCDCTL_API": "3"},
            lambda pids: etcd.waiters() == len(pids))
    else:
        skip("etcdctl lock", "etcd and etcdctl are not installed "
             "(Debian: etcd-server, etcd-client)")
    python = python_with_redis()
    if python:
        found["redis-py"] = ((python, os.path.join(bench.sources,
                                                   "redis_lock.py"),
                              server.url), bench.env, polls)
    else:
        skip("redis-py", "python3 cannot import redis (Debian: python3-redis)")
    found["redis-cli"] = ((os.path.join(bench.sources, "redis_lock.sh"),
                           str(server.port)), bench.env, polls)
    return found


def tools(bench):
    server = Server(bench)
    bench.compile("turn", "-static")
    found = ways(bench, server)
    starts = in_turns(bench.rounds(60), {
        name: lambda way=way: bench.take(*way[0], "true", env=way[1])
        for name, way in found.items()})
    hands = in_turns(bench.rounds(5), {
        name: lambda way=way: statistics.median(
            gaps(bench, way[2], way[0], env=way[1]))
        for name, way in found.items()}, warm_up=0)
    flock = (statistics.median(starts["flock"]),
             statistics.median(hands["flock"]))
    return table("A run of `true`, and the hand-over to one of ten that wait "
                 "(medians, us)",
                 ("tool", "start", "x flock", "hand-over", "x flock"),
                 [(name, statistics.median(starts[name]),
                   statistics.median(starts[name]) / flock[0],
                   statistics.median(hands[name]),
                   statistics.median(hands[name]) / flock[1])
                  for name in found])


def by_servers(bench):
    nine = servers(bench, 9)

    def run(n):
        return bench.take(
            bench.program, "-k", "k", "--restart-grace", "0", "--", "true",
            env=bench.env | {"REDLOCK_REDIS": " ".join(
                s.url for s in nine[:n])})

    times = in_turns(bench.rounds(200),
                     {n: lambda n=n: run(n) for n in (1, 3, 5, 7, 9)})
    return table("A run of `true` on several servers (us)",
                 ("servers", "median", "quartile 1", "quartile 3"),
                 [(n, quartiles(t)[1], quartiles(t)[0], quartiles(t)[2])
                  for n, t in times.items()])


def by_waiters(bench):
    rows = []
    for n in (1, 10, 100, 1000):
        if n > 100 and bench.scale < 0.5:
            skip(f"{n} waiters", "SCALE is below 0.5")
            continue
        server = Server(bench)
        # Of few, one has to see several.
        samples = [serve_all(bench, server, *crowd(bench, server, n))
                   for _ in range(1 if n >= 100 else 5)]
        rows.append((n, statistics.median(us for us, _ in samples),
                     statistics.median(calls for _, calls in samples)))
    return table("All waiters served, one after the other (whole runs of "
                 "`true`)", ("waiters", "us for each", "scripts"), rows)


def by_slots(bench):
    server = Server(bench)
    rows = []
    for slots in (1, 4, 16, 64):
        costs = of_slots(bench, server, slots)
        rows.append((slots, costs["renewal"], costs["refresh"],
                     costs["first refusal"]))
    return table("Redis's time for one script, all slots taken (us)",
                 ("slots", "renewal", "refresh", "first refusal"), rows)


def renew_all(server, renewals, connections, seconds):
    """Renews as many locks in turn as they would be at TTL 60 s, each batch on
    other connections, and reads the answers of one batch before the next."""
    pause, due, at, batch = 0.02, 0.0, 0, []
    began = time.monotonic()
    while (now := time.monotonic()) - began < seconds:
        for connection in batch:
            if connection.socket.recv(4096)[:2] != b"*2":
                raise SystemExit("bench: a renewal was refused")
        batch = []
        due = (now - began) * len(renewals) / RENEWALS - at
        for _ in range(min(int(due), len(connections))):
            connection = connections[at % len(connections)]
            connection.send(renewals[at % len(renewals)])
            batch.append(connection)
            at += 1
        time.sleep(pause)
    for connection in batch:
        connection.socket.recv(4096)
    return at


def by_locks(bench):
    rows = []
    for n in (100, 1000, 10000, 100000):
        if n > 1000 * max(1, 100 * bench.scale):
            skip(f"{n} locks", f"SCALE is {bench.scale:g}")
            continue
        server = Server(bench)
        acquire, renew, *_ = recorded(bench, server)
        before = int(server.info("memory")["used_memory"])
        long = by_digest(with_ttl(acquire, 600000))
        server.connection.pipeline(of_another(long, i) for i in range(n))
        if server("DBSIZE") < n:
            raise SystemExit("bench: locks were refused")
        memory = (int(server.info("memory")["used_memory"]) - before) / n
        renewals = [of_another(by_digest(with_ttl(renew, 60000)), i)
                    for i in range(n)]
        connections = [server.connect() for _ in range(
            connections_allowed(min(n, CONNECTIONS)))]
        seconds = 20 if bench.scale >= 1 else 5
        stats, cpu = server.info("stats"), server.cpu_seconds()
        began = time.monotonic()
        done = renew_all(server, renewals, connections, seconds)
        took = time.monotonic() - began
        cpu = server.cpu_seconds() - cpu
        now = server.info("stats")
        moved = sum(int(now[key]) - int(stats[key]) for key in
                    ("total_net_input_bytes", "total_net_output_bytes"))
        rows.append((n, done / took, 100 * cpu / took, moved / took / 1024,
                     memory))
        for connection in connections:
            connection.close()
        server.stop()
        bench.servers.remove(server)
    return table("Locks held in one Redis at TTL 60 s, each renewed every 20 s "
                 f"(over at most {CONNECTIONS} connections)",
                 ("locks", "renewals/s", "Redis busy %", "kB/s",
                  "bytes a lock"), rows)


PLOT = """
set terminal svg size 960,1080 font "sans,13" background "white"
set output "{svg}"
set multiplot layout 3,2 title "{title}"
set grid ytics lc rgb "#dddddd"
set style line 1 lc rgb "#1f5fa8" lw 2 pt 7 ps 0.6
set style line 2 lc rgb "#c4512d" lw 2 pt 7 ps 0.6
set style line 3 lc rgb "#3d8b4f" lw 2 pt 7 ps 0.6
set logscale y
unset key
ms(us) = sprintf("%.1f ms", us / 1000)
set xrange [-0.5:{last}.5]
set yrange [500:500000]
set title "A run of true (us)"
plot "{tools}" using 0:2:xtic(1) with points ls 1 ps 1.2, \\
     "" using 0:2:(ms($2)) with labels offset 0,1
set title "Hand-over to one of ten that wait (us)"
plot "{tools}" using 0:4:xtic(1) with points ls 1 ps 1.2, \\
     "" using 0:4:(ms($4)) with labels offset 0,1
unset logscale y
set xrange [*:*]
set yrange [0:*]
set title "A run of true on 1 to 9 servers (us)"
set xlabel "servers"
plot "{servers}" using 1:2:3:4 with yerrorlines ls 1
set logscale x
set title "Each of so many waiters, served in turn (us)"
set xlabel "waiters"
plot "{waiters}" using 1:2 with linespoints ls 1
set logscale y
set yrange [*:*]
set key at graph 0.05, 0.75 left Left reverse
set title "Redis's time for one script (us)"
set xlabel "slots, all taken"
plot "{slots}" using 1:2 with linespoints ls 1 title "renewal", \\
     "" using 1:3 with linespoints ls 3 title "refresh", \\
     "" using 1:4 with linespoints ls 2 title "first refusal"
set key top left Left reverse
set title "One Redis, TTL 60 s"
set xlabel "locks held"
plot "{locks}" using 1:2 with linespoints ls 1 title "renewals per second", \\
     "" using 1:3 with linespoints ls 2 title "Redis busy (%)", \\
     "" using 1:4 with linespoints ls 3 title "kB per second"
unset multiplot
"""


def draw(bench, series):
    svg = os.environ.get("SVG") or os.path.join(
        bench.sources, "../../man/growth.svg")
    if not shutil.which("gnuplot"):
        skip("the plot", "gnuplot is not installed (Debian: gnuplot-nox)")
        return
    files = {}
    for name, rows in series.items():
        files[name] = bench.path(name + ".dat")
        with open(files[name], "w") as f:
            for row in rows:
                f.write(" ".join(f'"{cell}"' if isinstance(cell, str)
                                 else str(cell) for cell in row) + "\n")
    title = f"redlock-run, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores"
    subprocess.run(["gnuplot"], check=True, text=True,
                   input=PLOT.format(
                       svg=svg, title=title, last=len(series["tools"]) - 1,
                       **files))
    say(f"\nplot: {os.path.relpath(svg)}")


def run(bench):
    draw(bench, {"tools": tools(bench), "servers": by_servers(bench),
                 "waiters": by_waiters(bench), "slots": by_slots(bench),
                 "locks": by_locks(bench)})

"""Growth: how cost grows with waiters, servers, slots, locks and names, what an
hour costs, and what other tools cost: tables, and a plot of them in $SVG
(man/growth.svg) by gnuplot."""

import os
import shutil
import statistics
import subprocess
import time

import names
from handover import gaps, lock_in_file, lock_in_redis, until
from memory import hours
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

    found = {"redlock-run": lock_in_redis(bench, server)}
    static = os.path.join(bench.sources, "../../build/static/redlock-run")
    if os.path.exists(static):
        command, *rest = found["redlock-run"]
        found["static"] = ((static, *command[1:]), *rest)
    else:
        skip("redlock-run static", "make static has not built it")
    found["flock"] = lock_in_file(bench)
    if shutil.which("etcd") and shutil.which("etcdctl"):
        etcd = Etcd(bench)
        found["etcdctl"] = (
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


def by_names(bench):
    rows = []
    for n in (100, 1000, 10000, 100000):
        if n > 10000 and bench.scale < 0.5:
            skip(f"{n} names", "SCALE is below 0.5")
            continue
        took = names.measure(bench, n, names.MODES, 3)
        rows.append((n, *(took[mode] / 1e3 for mode in names.MODES)))
    return table("Queries of all locks, each held, with one run (s)",
                 ("names", *names.MODES), rows)


def by_hours(bench):
    return table("An hour of one lock (ms of processor time on its host)",
                 ("what", "ms"), hours(bench))


PLOT = """
set terminal svg size 960,1360 font "sans,13" background "white"
set output "{svg}"
set multiplot layout 4,2 title "{title}; lower is better everywhere"
set grid ytics lc rgb "#dddddd"
set style line 1 lc rgb "#1f5fa8" lw 2 pt 7 ps 0.6
set style line 2 lc rgb "#c4512d" lw 2 pt 7 ps 0.6
set style line 3 lc rgb "#3d8b4f" lw 2 pt 7 ps 0.6
set style fill solid 0.8 noborder
set boxwidth 0.6
set border 3
set tics nomirror
unset key
ours(name) = name[1:7] eq "redlock" || name eq "static" ? 0x1f5fa8 : 0x999999
text(us) = sprintf("%.1f", us / 1000)
set yrange [0:*]
set offsets 0.6, 0.6, graph 0.1, 0
set xtics scale 0 font ",11"
set title "A run of true"
set ylabel "ms"
plot "{tools}" using 0:($2/1000):(ours(strcol(1))):xtic(1) with boxes lc rgb var, \
     "" using 0:($2/1000):(text($2)) with labels offset 0,0.6
set title "Hand-over to one of ten that wait"
plot "{tools}" using 0:($4/1000):(ours(strcol(1))):xtic(1) with boxes lc rgb var, \
     "" using 0:($4/1000):(text($4)) with labels offset 0,0.6
set title "What an hour of one lock takes on its host"
set ylabel "ms of processor time"
plot "{hours}" using 0:2:xtic(1) with boxes lc rgb "#1f5fa8", \
     "" using 0:2:(sprintf("%.0f", $2)) with labels offset 0,0.6
unset offsets
set xtics scale 1
set xrange [0:10]
set title "A run of true, on several servers"
set ylabel "ms"
set xlabel "servers"
plot "{servers}" using 1:($2/1000):($3/1000):($4/1000) with yerrorlines ls 1
set xrange [*:*]
set logscale x
set title "Waiters, served in turn (a whole run of true each)"
set ylabel "ms for each"
set xlabel "waiters"
plot "{waiters}" using 1:($2/1000) with linespoints ls 1
set title "Redis's time for one script, all slots taken"
set ylabel "us"
set xlabel "slots"
set key top left Left reverse
plot "{slots}" using 1:4 with linespoints ls 2 title "first refusal", \
     "" using 1:3 with linespoints ls 3 title "refresh", \
     "" using 1:2 with linespoints ls 1 title "renewal"
unset key
set title "Locks held in one Redis at a TTL of 60 s"
set ylabel "% of a core of Redis"
set xlabel "locks"
plot "{locks}" using 1:3 with linespoints ls 1
set title "Queries of all locks"
set ylabel "s"
set xlabel "locks"
set key top left Left reverse
plot "{names}" using 1:4 with linespoints ls 2 title "--metrics", \
     "" using 1:3 with linespoints ls 3 title "--history", \
     "" using 1:2 with linespoints ls 1 title "--status"
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
                   input=PLOT.format(svg=svg, title=title, **files))
    say(f"\nplot: {os.path.relpath(svg)}")


def run(bench):
    draw(bench, {"tools": tools(bench), "hours": by_hours(bench),
                 "servers": by_servers(bench), "waiters": by_waiters(bench),
                 "slots": by_slots(bench), "locks": by_locks(bench),
                 "names": by_names(bench)})

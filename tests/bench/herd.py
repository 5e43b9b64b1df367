"""Herd: how many of the hosts that start the same job within 20 ms get an answer
within the node timeout of 3 s, and how soon.  redlock-run begins a second connection
beside one without an answer after 750 ms; herd.c is the hosts, because so many
processes do not start so fast on one of them."""

import subprocess

from runner import say
from server import Server, connections_allowed
from traffic import of_token, recorded

LIMIT_MS = 3000
BACKLOGS = [511, 8192]


def herd(bench, server, requests, second_ms):
    result = subprocess.run(
        [bench.path("herd"), str(server.port), str(len(requests)), "20",
         str(second_ms), str(LIMIT_MS)],
        input=b"".join(requests), capture_output=True, check=True).stdout
    without, median, worst = map(int, result.split())
    return (f"{without} of {len(requests)} without an answer, median "
            f"{median / 1000:.0f} ms, worst {worst / 1000:.0f} ms")


def run(bench):
    bench.compile("herd")
    hosts = connections_allowed(2 * bench.rounds(8000)) // 2
    for backlog in BACKLOGS:
        server = Server(bench, options=["--tcp-backlog", str(backlog)])
        acquire = recorded(bench, server)[0]
        server.connection.ask(of_token(acquire, 0))
        requests = [of_token(acquire, n) for n in range(1, hosts + 1)]
        for name, second_ms in ("one connection", 0), ("two", LIMIT_MS // 4):
            say(f"herd: tcp-backlog {backlog}, {name}: "
                f"{herd(bench, server, requests, second_ms)}")

"""Scripts: the time of Redis's thread, of which a whole fleet shares one, by
its own account (usec_per_call of eval and evalsha in commandstats)."""

import statistics
import time

from traffic import NAME, of_another, of_token, recorded, with_ttl
from runner import say
from server import Server, Tap, encode

DELETE = ("if redis.call('GET', KEYS[1]) == ARGV[1] then "
          "return redis.call('DEL', KEYS[1]) else return 0 end")
EXTEND = ("if redis.call('GET', KEYS[1]) == ARGV[1] then "
          "return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end")
KEY, VALUE = "bare:" + NAME.decode(), "00000000-0000-4000-8000-000000000000"


def cost(server, requests, *commands):
    """Microseconds per call of these commands: the median of ten parts."""
    size = max(2, len(requests) // 20 * 2)
    costs = []
    for begin in range(0, len(requests), size):
        server("CONFIG", "RESETSTAT")
        for request in requests[begin:begin + size]:
            server.connection.ask(request)
        calls, us = server.calls(*(commands or ("eval", "evalsha")))
        costs.append(us / calls)
    return statistics.median(costs)


def bare(server, key=KEY):
    """SET NX PX, and the two scripts that everybody has."""
    delete = server("SCRIPT", "LOAD", DELETE)
    extend = server("SCRIPT", "LOAD", EXTEND)
    return (encode("SET", key, VALUE, "NX", "PX", 30000),
            encode("EVALSHA", delete, 1, key, VALUE),
            encode("EVALSHA", extend, 1, key, VALUE, 30000))


def hot(bench, server):
    n = bench.rounds(3000)
    acquire, renew, *_, release = recorded(bench, server)
    set_, delete, extend = bare(server)
    ours = cost(server, [acquire, release] * n)
    theirs = cost(server, [set_, delete] * n, "set", "evalsha")
    say(f"scripts: acquire and release, hot: {ours:.1f} us a script, "
        f"{ours / theirs:.1f} x SET NX PX and compare-and-delete "
        f"({theirs:.1f} us)")
    server.connection.ask(acquire)
    server.connection.ask(set_)
    ours = cost(server, [renew] * n)
    theirs = cost(server, [extend] * n)
    say(f"scripts: renewal, hot: {ours:.1f} us, {ours / theirs:.1f} x "
        f"PEXPIRE-if-equal ({theirs:.1f} us)")
    server.connection.ask(release)
    server.connection.ask(delete)


def cold(bench, server):
    """At the pace of real runs, one after the other."""
    n = bench.rounds(300)
    floor = bench.compile("floor")
    env = bench.env | {"REDLOCK_REDIS": server.url}
    ours = theirs = 0
    for _ in range(10):
        server("CONFIG", "RESETSTAT")
        for _ in range(n // 10 + 1):
            bench.take(bench.program, "-k", "k", "--", "true", env=env)
        calls, us = server.calls("eval", "evalsha")
        ours += us / calls / 10
        server("CONFIG", "RESETSTAT")
        for _ in range(n // 10 + 1):
            bench.take(floor, str(server.port), "floor", "true")
        calls, us = server.calls("eval", "evalsha", "set")
        theirs += us / calls / 10
    say(f"scripts: acquire and release, cold: {ours:.1f} us a script, "
        f"{ours / theirs:.1f} x SET NX PX and compare-and-delete "
        f"({theirs:.1f} us)")


def of_slots(bench, server, slots):
    """The cost of a renewal, a refresh, a first refusal: each slot is taken."""
    options = ("--slots", str(slots))
    acquire, renew, *_ = recorded(bench, server, *options)
    server("FLUSHDB")
    for n in range(slots):
        server.connection.ask(of_token(with_ttl(acquire, 600000), n))
    tap = Tap(server)
    pid = bench.spawn(bench.program, "-q", "-k", NAME.decode(), *options, "-w",
                      "inf", "--", "true",
                      env=bench.env | {"REDLOCK_REDIS": tap.url})
    while len(scripts := tap.scripts()) < 2:
        time.sleep(0.1)
    first, refresh = scripts[:2]
    own = of_token(with_ttl(renew, 600000), 0)
    n = bench.rounds(500)
    costs = {"renewal": cost(server, [own] * n),
             "refresh": cost(server, [refresh] * n)}
    refusals = []
    for i in range(n):
        refusals.append(cost(server, [of_token(first, 900000 + i)]))
        server("DEL", f"{{redlock:{NAME.decode()}}}:~queue",
               f"{{redlock:{NAME.decode()}}}:~beat")
    costs["first refusal"] = statistics.median(refusals)
    bench.kill(pid)
    server("FLUSHDB")
    return costs


def per_second(bench, server):
    """Locks per second of one Redis: pipelined, so that its thread is what
    limits them."""
    n = bench.rounds(5000)
    acquire, *_, release = recorded(bench, server)
    rates = []
    set_, delete, _ = bare(server)
    for pairs in ([r for i in range(n) for r in
                   (of_another(acquire, i), of_another(release, i))],
                  [set_, delete] * n):
        cpu, began = server.cpu_seconds(), time.monotonic()
        server.connection.pipeline(pairs)
        took = time.monotonic() - began
        busy = (server.cpu_seconds() - cpu) / took
        rates.append((n / took, busy))
    say("scripts: locks per second of one Redis: "
        f"{rates[0][0]:.0f} (Redis {rates[0][1]:.0%} busy), bare "
        f"{rates[1][0]:.0f} ({rates[1][1]:.0%})")


def run(bench):
    server = Server(bench)
    hot(bench, server)
    cold(bench, server)
    costs = {slots: of_slots(bench, server, slots) for slots in (1, 64)}
    for what, us in costs[1].items():
        many = costs[64][what]
        say(f"scripts: {what}: --slots 1 {us:.1f} us, --slots 64 "
            f"{many:.1f} us, {many / us:.1f} x")
    per_second(bench, server)

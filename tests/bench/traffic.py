"""Traffic: what redlock-run sends while it holds a lock, and how long its
requests are: as RESP, with a name of ten bytes and the default prefix."""

import hashlib
import re
import time

from runner import say
from server import Server, Tap

NAME = b"lock000000"
TTL = "907ms"
TOKEN = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def recorded(bench, server, *options, name=NAME.decode(), seconds="0.6",
             ttl=TTL):
    """The requests of one run that renews its lock: all that run a script.  A
    run before it has made the scripts known."""
    scripts = []
    for _ in range(2):
        tap = Tap(server)
        bench.take(bench.program, "-q", "-k", name, "-t", ttl, *options, "--",
                   "sleep", seconds, env=bench.env | {"REDLOCK_REDIS": tap.url})
        scripts = tap.scripts()
    return scripts


def of_another(request, n):
    """The same request by another run, for another lock of the same length:
    number n of 0 to 999 999."""
    return of_token(request, n).replace(NAME, b"lock%06d" % n)


def of_token(request, n):
    return TOKEN.sub(b"00000000-0000-4000-8000-%012d" % n, request)


def with_ttl(request, ms):
    """The same request for another TTL, which its value names as well: else a
    waiter has the lease cut to that."""
    was = b"$3\r\n907\r\n"
    if was not in request:
        raise SystemExit("bench: a request without the TTL")

    def longer(value):
        text = value[1].replace(b" ttl=907 ", b" ttl=%d " % ms)
        return b"$%d\r\n%s\r\n" % (len(text), text)
    request = re.sub(rb"\$\d+\r\n([^\r]* ttl=907 [^\r]*)\r\n", longer, request)
    return request.replace(was, b"$%d\r\n%d\r\n" % (len(str(ms)), ms))


def by_digest(request):
    """The same request with the digest instead of the script."""
    words = request.split(b"\r\n", 4)
    if words[2] != b"EVAL":
        return request
    length = int(words[3][1:])
    script, rest = words[4][:length], words[4][length:]
    digest = hashlib.sha1(script).hexdigest().encode()
    return b"\r\n".join([words[0], b"$7", b"EVALSHA", b"$40", digest]) + rest


def run(bench):
    server = Server(bench)
    scripts = recorded(bench, server)
    word = scripts[0].split(b"\r\n")[2].decode()
    say(f"traffic: {word}: acquire {len(scripts[0])} bytes, "
        f"renew {len(scripts[1])}, release {len(scripts[-1])}")
    env = bench.env | {"REDLOCK_REDIS": server.url}
    pid = bench.spawn(bench.program, "-k", "held", "-t", "1500ms", "--",
                      "sleep", "1000", env=env)
    while not server("EXISTS", "redlock:held"):
        time.sleep(0.01)
    time.sleep(1)
    server("CONFIG", "RESETSTAT")
    time.sleep(5)
    n, _ = server.calls("eval", "evalsha")
    say(f"traffic: {n} in 10 thirds of the lease")

"""A Redis of our own, its protocol, and a tap on the line to it."""

import os
import random
import select
import signal
import socket
import subprocess
import threading
import time


class Connection:
    """Speaks RESP."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def send(self, request):
        self.socket.sendall(request)

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return rest

    def __call__(self, *words):
        self.send(encode(*words))
        return self.reply()

    def ask(self, request):
        self.send(request)
        return self.reply()

    def pipeline(self, requests, batch=500):
        """Sends all requests; the replies are not looked at."""
        requests = iter(requests)
        end = b"$3\r\nend\r\n"
        while True:
            some = [r for _, r in zip(range(batch), requests)]
            if not some:
                return
            self.send(b"".join(some) + encode("ECHO", "end"))
            seen = b""
            while not seen.endswith(end):
                seen = (seen + self.socket.recv(1 << 16))[-len(end) - 9:]

    def close(self):
        self.file.close()
        self.socket.close()


def encode(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Server:
    """A redis-server on a free port, without persistence."""

    def __init__(self, bench, host="127.0.0.1", port=0, options=()):
        self.host = host
        for _ in range(50):
            self.port = port or random.randrange(20000, 32000)
            self.process = subprocess.Popen(
                ["redis-server", "--bind", host, "--port", str(self.port),
                 "--save", "", "--appendonly", "no", "--dir", bench.directory,
                 "--maxclients", "20000", "--pidfile", "", *options,
                 "--logfile", bench.path("log")], stdout=subprocess.DEVNULL)
            if self.answers():
                break
        else:
            raise SystemExit("bench: redis-server does not start")
        bench.servers.append(self)
        self.url = f"redis://{host}:{self.port}"
        self.connection = self.connect()

    def answers(self):
        while self.process.poll() is None:
            try:
                connection = self.connect()
                info = connection("INFO", "server").decode()
                connection.close()
                return f"process_id:{self.process.pid}\r" in info
            except (OSError, RuntimeError, ValueError):
                time.sleep(0.02)
        return False

    def connect(self):
        return Connection((self.host, self.port))

    def __call__(self, *words):
        return self.connection(*words)

    def info(self, section):
        return dict(line.split(":", 1) for line in
                    self("INFO", section).decode().splitlines() if ":" in line)

    def cpu_seconds(self):
        info = self.info("cpu")
        return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])

    def calls(self, *commands):
        """How often clients asked for these since CONFIG RESETSTAT, and the
        microseconds of Redis's thread that it took."""
        n = us = 0
        for name, value in self.info("commandstats").items():
            if name.removeprefix("cmdstat_") in commands:
                stats = dict(item.split("=") for item in value.split(","))
                n, us = n + int(stats["calls"]), us + int(stats["usec"])
        return n, us

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()


class Tap:
    """Listens, passes everything on to a server, and keeps the requests."""

    def __init__(self, server):
        self.server = server
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "redis://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.streams = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            stream = bytearray()
            self.streams.append(stream)
            threading.Thread(target=self.relay, args=(client, stream),
                             daemon=True).start()

    def relay(self, client, stream):
        server = socket.create_connection((self.server.host, self.server.port))
        other = {client: server, server: client}
        while True:
            for end in select.select([client, server], [], [])[0]:
                try:
                    data = end.recv(1 << 16)
                except OSError:
                    data = b""
                if not data:
                    client.close()
                    server.close()
                    return
                if end is client:
                    stream += data
                try:
                    other[end].sendall(data)
                except OSError:
                    pass

    def requests(self):
        """All whole requests so far, each as (words, its bytes)."""
        found = []
        for stream in self.streams:
            data, at = bytes(stream), 0
            while at < len(data):
                begin, words = at, []
                at = data.find(b"\r\n", at) + 2
                for _ in range(int(data[begin + 1:at - 2])):
                    end = data.find(b"\r\n", at)
                    length = int(data[at + 1:end])
                    words.append(data[end + 2:end + 2 + length])
                    at = end + 4 + length
                if at > len(data):
                    break
                found.append((words, data[begin:at]))
        return found

    def scripts(self):
        """The bytes of the requests that run a script."""
        return [request for words, request in self.requests()
                if words[0].upper() in (b"EVAL", b"EVALSHA")]


def connections_allowed(n):
    """How many of n connections one process may have here."""
    import resource
    return min(n, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200, 19000)

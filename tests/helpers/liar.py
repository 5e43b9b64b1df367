# liar.py LISTEN SERVER LIES: a server that asks SERVER and may lie about what
# that answers.  LIES is Python, loaded anew for every request, which may define
#
#	ask(words)		the reply, or FORWARD to ask SERVER
#	answer(words, reply)	the reply in place of SERVER's
#
# Words are strings.  A reply is a list, an int, bytes, None, an Error or a
# Status.  CLOSE ends the connection instead, and Last(reply) after it.
import os, select, socket, sys, threading

listen, server, lies = sys.argv[1:]


class Error(bytes):
    pass


class Status(bytes):
    pass


class Last:
    def __init__(self, reply):
        self.reply = reply


FORWARD, CLOSE = object(), object()


class Stream:
    def __init__(self, sock):
        self.sock, self.data = sock, b""

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        self.data += data

    def line(self):
        while b"\r\n" not in self.data:
            self.more()
        line, self.data = self.data.split(b"\r\n", 1)
        return line

    def value(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"*":
            return [self.value() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        if kind in b"+-":
            return (Status if kind == b"+" else Error)(rest)
        n = int(rest)
        if n < 0:
            return None
        while len(self.data) < n + 2:
            self.more()
        value, self.data = self.data[:n], self.data[n + 2:]
        return value


def encoded(value):
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(encoded, value))
    if isinstance(value, int):
        return b":%d\r\n" % value
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, (Error, Status)):
        return (b"-" if isinstance(value, Error) else b"+") + value + b"\r\n"
    return b"$%d\r\n%s\r\n" % (len(value), value)


def script():
    names = {"FORWARD": FORWARD, "CLOSE": CLOSE, "Error": Error, "Last": Last}
    with open(lies) as f:
        exec(f.read(), names)
    return names


def forward(client, real, request):
    real.sock.sendall(encoded(request))
    while not real.data:
        if client.sock in select.select([client.sock, real.sock], [], [])[0]:
            client.more()
        else:
            real.more()
    return real.value()


def serve(sock):
    client, real = Stream(sock), Stream(socket.socket(socket.AF_UNIX))
    try:
        real.sock.connect(server)
        while True:
            request = client.value()
            words = [word.decode("latin-1") for word in request]
            names = script()
            reply = names.get("ask", lambda _: FORWARD)(words)
            if reply is FORWARD:
                reply = forward(client, real, request)
                if "answer" in names:
                    reply = names["answer"](words, reply)
            if isinstance(reply, Last):
                sock.sendall(encoded(reply.reply))
            if reply is CLOSE or isinstance(reply, Last):
                break
            sock.sendall(encoded(reply))
    except (EOFError, OSError):
        pass
    real.sock.close()
    sock.close()


l = socket.socket(socket.AF_UNIX)
l.bind(listen + ".new")
l.listen(64)
os.rename(listen + ".new", listen)
while True:
    threading.Thread(target=serve, args=(l.accept()[0],), daemon=True).start()

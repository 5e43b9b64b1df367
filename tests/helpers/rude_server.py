"""
rude_server: what a made-up Redis on a free port of 127.0.0.1 has in common with
another.
"""

import os
import socket
import threading


def run(serve, name):
    """Write the port into NAME.port; serve(CONNECTION) has a thread for each."""
    s = socket.create_server(("127.0.0.1", 0))
    with open(name + ".new", "w") as f:
        print(s.getsockname()[1], file=f)
    os.rename(name + ".new", name + ".port")
    while True:
        c = s.accept()[0]
        threading.Thread(target=serve, args=(c,), daemon=True).start()

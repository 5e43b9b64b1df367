#!/usr/bin/python3
"""
far.py MS READY COMMAND...: runs COMMAND in a network in which 10.9.9.2 is this
host again, at a distance of MS in each direction; creates the file READY.

Needs a network namespace of its own, as `unshare -n` makes it.  Packets to
10.9.9.2 leave through a TUN device; they come back after MS with the two
addresses exchanged, which changes no checksum.
"""

import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001


def main(ms, ready, *command):
    delay = float(ms) / 1000
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"far", IFF_TUN_NO_PI))
    for line in ("link set lo up", "addr add 10.9.9.1/24 dev far", "link set far up"):
        subprocess.run(["ip", *line.split()], check=True)
    child = subprocess.Popen(command)
    open(ready, "w").close()
    queue = []  # (when, number, packet)
    number = 0
    while child.poll() is None:
        left = max(queue[0][0] - time.monotonic(), 0) if queue else 0.05
        if select.select([tun], [], [], min(left, 0.05))[0]:
            packet = os.read(tun, 65536)
            number += 1
            if packet[0] >> 4 == 4:
                back = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
                heapq.heappush(queue, (time.monotonic() + delay, number, back))
        while queue and queue[0][0] <= time.monotonic():
            os.write(tun, heapq.heappop(queue)[2])
    return child.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

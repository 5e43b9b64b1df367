#!/usr/bin/python3
"""nameserver.py ADDRESS FILE LOG: a DNS server on ADDRESS.

A line of FILE, which is read for each query, is "NAME ANSWER [AAAA]".  ANSWER is
an IPv4 address or one of "servfail", "refused", "unknown" and "silent"; AAAA is one
of these words, the answer to queries of that type.  A NAME without a line does not
exist.  Each query adds its name and type to LOG.
"""
import socket
import struct
import sys

CODES = {"servfail": 2, "unknown": 3, "refused": 5}
A, AAAA = 1, 28


def question(packet):
    """The name in lower case, its type, and the end of the question."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode().lower())
        at += 1 + packet[at]
    return ".".join(labels), struct.unpack(">H", packet[at + 1:at + 3])[0], at + 5


def answer_of(name, kind):
    with open(sys.argv[2], encoding="ascii") as lines:
        for words in map(str.split, lines):
            if words[:1] == [name]:
                return words[-1 if kind == AAAA else 1]
    return "unknown"


def reply(packet, code, end, address=None):
    header = struct.pack(">HHHHH", 0x8180 | code, 1, address is not None, 0, 0)
    record = b""
    if address is not None:
        record = struct.pack(">HHHIH", 0xC00C, A, 1, 1, 4)
        record += socket.inet_aton(address)
    return packet[:2] + header + packet[12:end] + record


def main():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((sys.argv[1], 53))
    log = open(sys.argv[3], "a", encoding="ascii", buffering=1)
    while True:
        packet, client = server.recvfrom(512)
        name, kind, end = question(packet)
        answer = answer_of(name, kind)
        log.write(f"{name} {kind}\n")
        if answer == "silent":
            continue
        if answer in CODES:
            packet = reply(packet, CODES[answer], end)
        else:
            packet = reply(packet, 0, end, answer if kind == A else None)
        server.sendto(packet, client)


main()

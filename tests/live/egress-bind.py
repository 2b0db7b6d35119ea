# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a program may bind and reach in a network of names where web.example.test:8080 is allowed:

    egress-bind.py binds      what became of each row below, in one line
    egress-bind.py thief      listens wherever it may on the allowed port, then connects 20 times
    egress-bind.py reach ADDRESS,PORT[,udp]...   what came of it, and whether it was late
    egress-bind.py sockets PATH...               which of these Unix sockets can be connected to"""
import errno
import select
import socket
import sys
import time

V4, V6, TCP, UDP = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
REUSE = (socket.SO_REUSEADDR, socket.SO_REUSEPORT)
IP_FREEBIND, IP_TRANSPARENT = 15, 19
HOST = "web.example.test"


def name_of(e):
    return errno.errorcode.get(e.errno, str(e.errno)) if e.errno else type(e).__name__


def attempt(fn):
    try:
        fn()
        return "ok"
    except OSError as e:
        return name_of(e)


def bind(family, kind, address, port, options=(), free=False):
    s = socket.socket(family, kind)
    if family == V6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    for o in options:
        s.setsockopt(socket.SOL_SOCKET, o, 1)
    if free:
        s.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    s.bind((address, port))
    return s


def binds():
    fake = socket.gethostbyname(HOST)
    rows = [(V4, TCP, "127.0.0.1", 8080), (V4, TCP, "0.0.0.0", 8080), (V6, TCP, "::", 8080),
            (V4, TCP, "127.0.0.1", 8080, REUSE), (V4, TCP, "0.0.0.0", 8080, REUSE),
            (V4, TCP, fake, 8080), (V4, TCP, "127.0.0.1", 3000), (V4, TCP, "0.0.0.0", 3001)]
    out = [attempt(lambda r=r: bind(*r)) for r in rows]
    out.append(attempt(lambda: socket.socket(V4, TCP).setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)))
    out.append(attempt(lambda: socket.socket(V4, socket.SOCK_RAW, socket.IPPROTO_TCP)))
    out.append(attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)))
    out.append(attempt(lambda: socket.create_connection(("127.0.0.1", 8080), timeout=10)))
    print(" ".join(out))


def thief():
    fake = socket.gethostbyname(HOST)
    held = []
    for args in ((V4, TCP, "0.0.0.0", 8080, REUSE), (V6, TCP, "::", 8080, REUSE), (V4, TCP, fake, 8080, REUSE, True),
                 (V4, UDP, "0.0.0.0", 5353, REUSE)):
        try:
            s = bind(*args)
            if args[1] == TCP:
                s.listen(64)
            held.append(s)
        except OSError:
            pass
    served = 0
    for _ in range(20):
        with socket.create_connection((HOST, 8080), timeout=20) as s:
            s.sendall(b"GET /t HTTP/1.0\r\nHost: %s\r\n\r\n" % HOST.encode())
            served += b"path=/t" in s.recv(4096)
    taken = len(select.select(held, [], [], 0)[0]) if held else 0
    print(served, taken)


def reach(*args):
    out = []
    for at in args:
        address, port, kind = (at.split(",") + ["tcp"])[:3]
        start = time.monotonic()
        family = V6 if ":" in address else V4

        def go(family=family, kind=kind, address=address, port=port):
            s = socket.socket(family, UDP if kind == "udp" else TCP)
            s.settimeout(20)
            s.connect((address, int(port)))
            if kind == "udp":
                s.send(b"x")
                s.recv(10)

        result = attempt(go)
        out.append(result if time.monotonic() - start < 5 else result + "-late")
    print(" ".join(out))


def sockets(*paths):
    out = []
    for path in paths:
        s = socket.socket(socket.AF_UNIX, TCP)
        out.append(attempt(lambda s=s, path=path: s.connect(path)))
    print(" ".join(out))


globals()[sys.argv[1]](*sys.argv[2:])

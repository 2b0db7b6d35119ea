# SPDX-License-Identifier: LGPL-2.1-or-later
"""Both sides of a published port: publish.py ACT [ARG...]. Each act prints one line."""
import hashlib
import os
import socket
import struct
import sys
import threading
import time


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def free(count):
    """Ports that nobody has now."""
    s = [socket.socket() for _ in range(int(count))]
    for x in s:
        x.bind(("127.0.0.1", 0))
    print(*[x.getsockname()[1] for x in s])


def occupy(port, up):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # for what has ended, not for a listener
    s.bind(("127.0.0.1", int(port)))
    s.listen(1)
    open(up, "w").close()
    time.sleep(300)


def answer(c):
    """What the first line asks for."""
    with c:
        f = c.makefile("rb")
        word = f.readline().split()
        if not word:
            return
        if word[0] == b"count":  # until the other side has no more to say
            rest = f.read()
            c.sendall(b"got %d %s" % (len(rest), hashlib.sha256(rest).hexdigest().encode()))
        elif word[0] == b"end":  # first, and listens on
            c.sendall(b"bye")
            c.shutdown(socket.SHUT_WR)
            print(len(f.read()), flush=True)
        elif word[0] == b"reset":
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif word[0] == b"who":
            c.sendall(c.getpeername()[0].encode())


def serve(up, *places):
    for place in places:
        addr, port = place.rsplit(":", 1)
        s = socket.socket(family(addr))
        s.bind((addr, int(port)))
        s.listen(200)

        def loop(s=s):
            while True:
                c, _ = s.accept()
                threading.Thread(target=answer, args=(c,), daemon=True).start()
        threading.Thread(target=loop, daemon=True).start()
    open(up, "w").close()
    time.sleep(300)


def dial(place):
    addr, port = place.rsplit(":", 1)
    return socket.create_connection((addr, int(port)), timeout=60)


def read_all(s):
    got = b""
    while d := s.recv(1 << 16):
        got += d
    return got.decode()


def count(place, size):
    data = bytes(range(256)) * (int(size) // 256)
    s = dial(place)
    s.sendall(b"count\n" + data)
    s.shutdown(socket.SHUT_WR)
    print(read_all(s) == f"got {len(data)} {hashlib.sha256(data).hexdigest()}")


def parallel(place, n):
    held = [dial(place) for _ in range(int(n))]
    good = 0
    for i, s in enumerate(held):
        s.sendall(b"count\n" + b"x" * i)
        s.shutdown(socket.SHUT_WR)
    for i, s in enumerate(held):
        good += read_all(s).startswith(f"got {i} ")
    print(good)


def end(place):
    s = dial(place)
    s.sendall(b"end\n")
    got = read_all(s)
    s.sendall(b"y" * 300000)
    s.close()
    print(got)


def reset(place):
    s = dial(place)
    s.sendall(b"reset\n")
    try:
        s.recv(10)
        print("fin")
    except ConnectionResetError:
        print("reset")


def who(place):
    s = dial(place)
    s.sendall(b"who\n")
    print(read_all(s))


def state_of(place):
    """refused: nobody listens; reset: taken, and nobody is behind it; open"""
    try:
        s = dial(place)
    except ConnectionRefusedError:
        return "refused"
    except ConnectionResetError:
        return "reset"
    try:
        s.sendall(b"who\n")
        return "open" if s.recv(10) else "reset"
    except OSError:
        return "reset"


def state(place):
    print(state_of(place))


def hosts_state(*places):
    print(*[state_of(p) for p in places])


def hosts(*names):
    """What a program inside can connect to, or look up."""
    out = []
    for name in names:
        try:
            dial(name).close()
            out.append("open")
        except socket.gaierror:
            out.append("unknown")
        except OSError as e:
            out.append(e.errno and os.strerror(e.errno).split()[-1])
    print(*out)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])

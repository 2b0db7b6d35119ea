# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a program inside does with its network: egress-client.py ACT [ARG]. Prints one line."""
import hashlib
import re
import socket
import ssl
import struct
import sys
import threading
import time

HOST = "web.example.test"


def dial(port, host=HOST):
    s = socket.create_connection((host, port), timeout=30)
    return s


def read_all(s, pauses=0):
    n, h = 0, hashlib.sha256()
    while True:
        if pauses > 0:
            pauses -= 1
            time.sleep(0.02)
        d = s.recv(1 << 20)
        if not d:
            return n, h.hexdigest()
        n += len(d)
        h.update(d)


def half_close():
    s = dial(7001)
    s.sendall(b"x" * 500000 + b"the end")
    s.shutdown(socket.SHUT_WR)
    got = b""
    while d := s.recv(65536):
        got += d
    print(got.split()[1].decode(), got.endswith(b"the end"))


def server_first():
    s = dial(7002)
    got = s.recv(10)
    eof = s.recv(10)
    s.sendall(b"y" * 500000)
    s.close()
    print(got.decode(), len(eof))


def server_reset():
    s = dial(7003)
    s.sendall(b"x")
    try:
        s.recv(10)
        print("fin")
    except ConnectionResetError:
        print("rst")


def client_reset():
    s = dial(7004)
    s.recv(1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    print("sent")


def bulk(mib, pauses=0):
    s = dial(7005)
    s.sendall(mib.encode() + b"\n")
    n, digest = read_all(s, pauses)
    want = hashlib.sha256()
    block = bytes(range(256)) * 4096
    for _ in range(int(mib)):
        want.update(block)
    print(n, digest == want.hexdigest())


def cut_short():
    """The client goes away in the middle of much, time and again; the next connection is whole."""
    for part in range(8):
        s = dial(7005)
        s.sendall(b"64\n")
        for _ in range(part):
            s.recv(1 << 20)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    bulk("16")


def slow_server():
    s = dial(7006)
    s.settimeout(2)
    n = 0
    try:
        while n < 1 << 30:
            n += s.send(b"z" * 65536)
    except TimeoutError:
        pass
    print("bounded" if n < 64 << 20 else f"took {n}")


def slow_client():
    """It waits before each of its first reads."""
    bulk("64", pauses=100)


def many(count):
    bad = []
    address = socket.gethostbyname(HOST)

    def one():
        try:
            s = dial(7001, address)
            s.sendall(b"m" * 1000)
            s.shutdown(socket.SHUT_WR)
            if not s.recv(100).startswith(b"got 1000"):
                bad.append(1)
        except OSError as e:
            bad.append(str(e))

    threading.stack_size(256 * 1024)
    t = [threading.Thread(target=one) for _ in range(int(count))]
    for x in t:
        x.start()
    for x in t:
        x.join()
    print(len(bad), bad[:1])


def hold(count):
    s = [dial(7001) for _ in range(int(count))]
    print(len(s), flush=True)
    time.sleep(300)


def cap(count, stay="0"):
    """So many connections that live; one more is there when one of them ends."""
    s = [dial(7002) for _ in range(int(count))]
    live = sum(c.recv(3) == b"bye" for c in s)
    late = dial(7002)
    late.settimeout(3)
    try:
        late.recv(3)
        print("too many")
        return
    except TimeoutError:
        pass
    late.settimeout(60)
    s[0].close()
    print(live, late.recv(3).decode(), flush=True)
    time.sleep(int(stay))


def blocked(count):
    """The other side sends much to each, and nothing is read."""
    held = []
    address = socket.gethostbyname(HOST)
    for _ in range(int(count)):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect((address, 7005))
        s.sendall(b"64\n")
        held.append(s)
    time.sleep(3)
    print(len(held), flush=True)
    time.sleep(300)


def udp(count):
    slowest = 0
    for _ in range(int(count)):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(5)
        start = time.monotonic()
        s.connect((socket.gethostbyname(HOST), 443))
        try:
            s.send(b"quic")
            s.recv(10)
            print("answered")
            return
        except ConnectionRefusedError:
            pass
        except TimeoutError:
            print("no answer")
            return
        slowest = max(slowest, time.monotonic() - start)
    print("refused", "soon" if slowest < 2 else slowest)


def dns(text):
    """Raw questions: name in hex labels, type; prints rcode, answers, authority."""
    out = []
    for item in text.split(","):
        name, qtype, *extra = item.split("/")
        wire = b"".join(bytes([len(p)]) + p.encode("latin1") for p in name.split(".") if p) + b"\0"
        opt = b"\0\0\x29\x04\xd0\0\0\0\0\0\0" if "edns" in extra else b""
        q = struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 1 if opt else 0) + wire + struct.pack(">HH", int(qtype), 1) + opt
        if "tcp" in extra:
            s = socket.create_connection(("198.18.0.1", 53), timeout=10)
            s.sendall(struct.pack(">H", len(q)) + q)
            r = s.recv(4096)[2:]
        else:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.settimeout(10)
            s.sendto(q, ("198.18.0.1", 53))
            r = s.recv(4096)
        flags, _, an, ns, ar = struct.unpack(">HHHHH", r[2:12])
        out.append(f"{flags & 15}/{an}/{ns}/{ar}/{'ra' if flags & 128 else 'no'}")
    print(" ".join(out))


def flood(count):
    """Names, as fast as they go; the resolver still answers after that."""
    socket.gethostbyname(HOST)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    for i in range(int(count)):
        n = b"n%d" % i
        q = struct.pack(">HHHHHH", i & 0xffff, 0x0100, 1, 0, 0, 0) + bytes([len(n)]) + n
        s.sendto(q + b"\x04wild\x07example\x04test\0\0\x01\0\x01", ("198.18.0.1", 53))
        if i % 32 == 31:
            for _ in range(32):
                s.recv(1000)
    print(socket.gethostbyname(HOST))


def bind_matrix():
    out = []
    for family, addr, port in ((socket.AF_INET, "127.0.0.1", 8080), (socket.AF_INET, "0.0.0.0", 8080),
                               (socket.AF_INET6, "::1", 8080), (socket.AF_INET, "198.19.1.0", 8080)):
        s = socket.socket(family)
        try:
            s.bind((addr, port))
            out.append("ok")
        except OSError as e:
            out.append(type(e).__name__ if e.errno != 99 else "unavailable")
        s.close()
    print(" ".join(out))


def hello_of(name):
    """The first flight of a TLS client that wants @name."""
    out = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def sni(*names):
    """The same hello whole, byte by byte, and in records of 1 and of 37 bytes; what comes back."""
    out = []
    for name in names:
        hello = hello_of(name)
        body = hello[5:]
        cut = [b"".join(hello[:3] + struct.pack(">H", len(body[i:i + n])) + body[i:i + n] for i in range(0, len(body), n))
               for n in (1, 37)]
        for data, piece in ((hello, len(hello)), (hello, 1), (cut[0], 600), (cut[1], 50)):
            s = dial(443)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for i in range(0, len(data), piece):
                    s.sendall(data[i:i + piece])
                got = s.recv(100)
            except ConnectionResetError:
                got = b""
            out.append("hello" if got[:1] == b"\x16" else "denied" if got[:1] == b"\x15" and got[-1] == 49 else repr(got[:9]))
            s.close()
    print(" ".join(out))


def requests(*lines):
    """Each one sent when the last is answered, on one connection; what comes back. | is a line's end, a
    number in <> so many bytes; + before one: sent with the last, which has no answer of its own then."""
    s = dial(80)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    f = s.makefile("rb")
    out, pending = [], b""
    for k, line in enumerate(lines):
        text = line.lstrip("+").replace("|", "\r\n")
        pending += re.sub("<([0-9]+)>", lambda m: "x" * int(m[1]), text).encode()
        if k + 1 < len(lines) and lines[k + 1].startswith("+"):
            continue
        try:
            s.sendall(pending)
            pending = b""
            if not (status := f.readline()):
                raise ConnectionResetError
            head = status
            while (l := f.readline()) not in (b"\r\n", b""):
                head += l
            n = [int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.startswith(b"Content-Length")]
            out.append(f.read(n[0]).decode().strip() if n else status.split()[1].decode())
        except (ConnectionResetError, BrokenPipeError):
            out.append("cut")
            break
    print(" / ".join(out))


def websocket():
    s = dial(80)
    s.sendall(b"GET /ws HTTP/1.1\r\nHost: web.example.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
              b"\x81\x01x")
    status, f = b"", s.makefile("rb")
    while (line := f.readline()) not in (b"\r\n", b""):
        status = status or line
    first = f.read(3)
    s.sendall(bytes(range(256)))
    print(status.split()[1].decode(), first == b"\x81\x01x", f.read(256) == bytes(range(256)))


def own_server():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(1)
    c = socket.create_connection(s.getsockname(), timeout=5)
    print("ok" if c else "")


globals()[sys.argv[1]](*sys.argv[2:])

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The other side of the network: egress-server.py DIR

A name server on 53 that writes down every name it is asked for, and servers on the ports below, on
every address of the namespace it runs in. DIR holds cert.pem and key.pem, and gets dns.log,
conn.log and, when all listen, up."""
import os
import resource
import socket
import ssl
import struct
import sys
import threading
import time

DIR = sys.argv[1]
PUBLIC = "93.184.216.34"
# name -> addresses, or a CNAME first. A list of lists is answered in turn.
ZONE = {
    "web.example.test": [PUBLIC],
    "git.example.test": [PUBLIC],
    "a.wild.example.test": [PUBLIC],
    "b.c.wild.example.test": [PUBLIC],
    "only80.example.test": [PUBLIC],
    "evil.test": [PUBLIC],
    "proxy.example.test": ["10.9.9.9"],
    "dead.example.test": ["93.184.216.99"],
    "private.example.test": ["10.9.9.9"],
    "metadata.example.test": ["169.254.169.254"],
    "loop.example.test": ["127.0.0.1"],
    "own.example.test": ["93.184.216.1"],
    "mixed.example.test": ["10.9.9.9", PUBLIC],
    "mapped.example.test": ["::ffff:127.0.0.1"],
    "nat64.example.test": ["64:ff9b::7f00:1"],
    "cname.example.test": ["localhost.example.test.", "127.0.0.1"],
    "bench.example.test": ["198.18.7.7"],
    "rebind.example.test": [[PUBLIC], ["10.9.9.9"]],
    # What only 66-egress-addresses has a way to. Of 93.184.216.9 and ::99 nothing is ever heard.
    "silent.example.test": ["93.184.216.9"],
    "late.example.test": ["93.184.216.9", PUBLIC],
    "refuses.example.test": ["93.184.216.10", PUBLIC],
    "six.example.test": ["2606:2800:220:1::34"],
    "late6.example.test": ["2606:2800:220:1::99", PUBLIC],
    "mapped10.example.test": ["::ffff:10.9.9.9"],
    "nat10.example.test": ["64:ff9b::10.9.9.9"],
    "natpublic.example.test": ["64:ff9b::93.184.216.34"],
    "sixtofour.example.test": ["2002:a09:909::1"],
    "unique.example.test": ["fd00:9::9"],
}
LOCK = threading.Lock()
TURNS = {}


def log(name, text):
    with LOCK, open(f"{DIR}/{name}", "a", encoding="ascii", errors="backslashreplace") as f:
        f.write(text + "\n")


def name_wire(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.strip(".").split(".")) + b"\0"


def addresses(name):
    found = ZONE.get(name, [])
    if found and isinstance(found[0], list):
        with LOCK:
            turn = TURNS.get(name, 0)
            TURNS[name] = turn + 1
        found = found[min(turn // 2, len(found) - 1)]
    return found


def dns_answer(q):
    labels, at = [], 12
    while q[at]:
        labels.append(q[at + 1:at + 1 + q[at]].decode("latin1"))
        at += 1 + q[at]
    qtype = struct.unpack(">H", q[at + 1:at + 3])[0]
    name = ".".join(labels).lower()
    log("dns.log", name)
    answers = []
    owner = b"\xc0\x0c"
    for a in addresses(name):
        if a.endswith("."):
            target = name_wire(a)
            answers.append(owner + struct.pack(">HHIH", 5, 1, 0, len(target)) + target)
            owner = target
            continue
        family = socket.AF_INET6 if ":" in a else socket.AF_INET
        if qtype == (28 if family == socket.AF_INET6 else 1):
            data = socket.inet_pton(family, a)
            answers.append(owner + struct.pack(">HHIH", qtype, 1, 0, len(data)) + data)
    code = 0 if name in ZONE else 3
    head = q[:2] + struct.pack(">HHHHH", 0x8580 | code, 1, len(answers), 0, 0)
    return head + q[12:at + 5] + b"".join(answers)


def dns_udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", 53))
    yield
    while True:
        q, who = s.recvfrom(4096)
        try:
            s.sendto(dns_answer(q), who)
        except (IndexError, struct.error):
            pass


def read_all(c):
    n = 0
    while True:
        d = c.recv(1 << 16)
        if not d:
            return n
        n += len(d)


def file_answer(path):
    """A file below DIR/www; of a directory its index.html, and of a name without a file NAME.json."""
    at = os.path.normpath(DIR + path)
    if os.path.isdir(at):
        at += "/index.html"
    if not os.path.exists(at):
        at += ".json"
    if not at.startswith(DIR + "/www/") or not os.path.isfile(at):
        return b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    kind = {"html": "text/html", "json": "application/json"}.get(at.rsplit(".", 1)[-1], "application/octet-stream")
    with open(at, "rb") as f:
        body = f.read()
    return f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def http(c):
    """/www/...: a file. /keep...: more requests follow. /ws: after an upgrade bytes come back."""
    f = c.makefile("rb")
    while True:
        head = []
        while (line := f.readline()) not in (b"\r\n", b""):
            head.append(line.rstrip())
        if not head or not line:
            return
        fields = {k.strip().lower(): v.strip() for k, _, v in (l.partition(b":") for l in head[1:])}
        path = head[0].split(b" ")[1]
        host = fields.get(b"host", b"?")
        log("conn.log", "request %s%s" % (host.decode("latin1"), path.decode("latin1")))
        sent = len(f.read(int(fields.get(b"content-length", b"0"))))
        if b"transfer-encoding" in fields:
            while size := int(f.readline(), 16):
                sent += len(f.read(size))
                f.readline()
            f.readline()
        if path.startswith(b"/www/"):
            c.sendall(file_answer(path.decode().split("?")[0]))
            return
        if path == b"/ws" and b"upgrade" in fields:
            c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            while d := f.read1(1 << 16):
                c.sendall(d)
            return
        keep = path.startswith(b"/keep")
        body = b"host=" + host + b" path=" + path + (b" sent=%d" % sent if sent and keep else b"") + b"\n"
        c.sendall(b"HTTP/1.1 200 OK\r\n" + (b"" if keep else b"Connection: close\r\n") +
                  b"Content-Length: %d\r\n\r\n" % len(body) + body)
        if not keep:
            return


def echo_at_end(c):  # everything back, when the client has no more to say
    got = b""
    while True:
        d = c.recv(1 << 16)
        if not d:
            break
        got += d
    c.sendall(b"got %d " % len(got) + got[-64:])


def end_first(c):  # no more to say, and then listens
    c.sendall(b"bye")
    c.shutdown(socket.SHUT_WR)
    log("conn.log", "end_first %d" % read_all(c))


def reset(c):
    c.recv(1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def was_reset(c):
    c.sendall(b"x")
    try:
        read_all(c)
        log("conn.log", "was_reset fin")
    except ConnectionResetError:
        log("conn.log", "was_reset rst")


def source(c):  # as many MiB as the line says
    n = int(c.makefile("rb").readline())
    block = bytes(range(256)) * 4096
    for _ in range(n):
        c.sendall(block)


def never_reads(c):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    time.sleep(300)


def banner(c):
    c.sendall(b"SSH-2.0-test\r\n")
    c.recv(100)


def one_byte(c):
    c.sendall(c.recv(1))


def tls(c):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(DIR + "/cert.pem", DIR + "/key.pem")
    with ctx.wrap_socket(c, server_side=True) as s:
        http(s)


def proxy(c, credentials=None):
    """CONNECT to what the zone calls public, and 403 to the rest."""
    head = b""
    while b"\r\n\r\n" not in head:
        d = c.recv(4096)
        if not d:
            return
        head += d
    lines = head.decode("latin1").split("\r\n")
    log("conn.log", "proxy " + lines[0])
    name, port = lines[0].split()[1].rsplit(":", 1)
    if credentials and f"Proxy-Authorization: Basic {credentials}" not in lines:
        c.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        return
    if name == "evil.test":
        c.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        return
    if name == "git.example.test":
        c.sendall(b"SSH-2.0-nothing\r\n\r\n")
        return
    s = socket.create_connection((PUBLIC, int(port)))
    # In pieces, and the last one with the other side's first bytes where it speaks first.
    c.sendall(b"HTTP/1.1 200 Connection est")
    time.sleep(0.1)
    c.sendall(b"ablished\r\nX-Proxy: test\r\n\r\n" + (s.recv(100) if port == "7002" else b""))

    def back():
        while d := s.recv(1 << 16):
            c.sendall(d)
        c.shutdown(socket.SHUT_WR)
    t = threading.Thread(target=back)
    t.start()
    while d := c.recv(1 << 16):
        s.sendall(d)
    s.shutdown(socket.SHUT_WR)
    t.join()


def proxy_closed(c):
    proxy(c, "dXNlcjpwYXNzIHdvcmQ6")  # user:pass word:


PORTS = {1: http, 8443: http, 65535: http, 3128: proxy, 3129: proxy_closed, 80: http, 443: tls, 8080: http, 22: banner, 7001: echo_at_end, 7002: end_first, 7003: reset,
         7004: was_reset, 7005: source, 7006: never_reads, 7007: one_byte, 7443: banner}


def handle(fn, c):
    try:
        with c:
            fn(c)
    except OSError:
        pass


def serve(port, fn, at="0.0.0.0"):
    s = socket.socket(socket.AF_INET6 if ":" in at else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if ":" in at:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((at, port))
    s.listen(1024)
    yield
    while True:
        c, who = s.accept()
        log("conn.log", f"{port} from {who[0]} at {c.getsockname()[0]}")
        threading.Thread(target=handle, args=(fn, c), daemon=True).start()


def start(gen):
    next(gen)
    threading.Thread(target=lambda: next(gen), daemon=True).start()


files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
threading.stack_size(256 * 1024)
start(dns_udp())
for port, fn in PORTS.items():
    start(serve(port, fn))
start(serve(7444, http, PUBLIC))
if os.path.exists("/proc/net/if_inet6"):
    start(serve(80, http, "::"))
open(DIR + "/up", "w").close()
threading.Event().wait()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Questions to the resolver of a network of names, as raw packets; prints ok and not ok.

    egress-dns.py SERVER

web.example.test may be connected to, and evil.test may not."""
import socket
import struct
import sys

SERVER = (sys.argv[1], 53)
A, NS, CNAME, SOA, PTR, MX, TXT, AAAA, SRV, SVCB, HTTPS, ANY, OPT = 1, 2, 5, 6, 12, 15, 16, 28, 33, 64, 65, 255, 41
NOERROR, FORMERR, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 3, 4, 5
GOOD, BAD = "web.example.test", "evil.test"


def wire(name):
    return b"".join(bytes([len(p)]) + p.encode("latin1") for p in name.split(".") if p) + b"\0"


def opt(size=1232, version=0, data=b""):
    return b"\0" + struct.pack(">HHBBHH", OPT, size, 0, version, 0, len(data)) + data


def question(name, qtype=A, qclass=1, flags=0x0100, counts=(1, 0, 0), extra=b"", raw=None):
    name = wire(name) if raw is None else raw
    counts = (counts[0], counts[1], counts[2], 1 if extra else 0)
    return struct.pack(">HHHHHH", 0x1234, flags, *counts) + name + struct.pack(">HH", qtype, qclass) + extra


def udp(packet, wait=20):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(wait)
        s.connect(SERVER)
        s.send(packet)
        try:
            return s.recv(4096)
        except TimeoutError:
            return None


def read_exactly(s, n):
    got = b""
    while len(got) < n:
        more = s.recv(n - len(got))
        if not more:
            break
        got += more
    return got


def tcp(packets, piece=None):
    with socket.create_connection(SERVER, timeout=20) as s:
        data = b"".join(struct.pack(">H", len(p)) + p for p in packets)
        for i in range(0, len(data), piece or len(data)):
            s.sendall(data[i:i + (piece or len(data))])
        return [read_exactly(s, struct.unpack(">H", read_exactly(s, 2))[0]) for _ in packets]


class Answer:
    def __init__(self, packet):
        self.packet = packet
        self.id, self.flags, self.qd, self.an, self.ns, self.ar = struct.unpack(">HHHHHH", packet[:12])
        self.code = self.flags & 15
        self.good = self.id == 0x1234 and self.flags & 0x8000 and not self.flags & 0x0200  # an answer, not cut

    def has_soa(self):
        return self.ns == 1 and struct.pack(">HH", SOA, 1) in self.packet


def tell(ok, what, got=None):
    print(("ok - " if ok else "not ok - ") + what)
    if not ok and got is not None:
        print("#   " + (got.packet if isinstance(got, Answer) else got).hex())


def expect(what, packet, code, an=0, soa=None, also=lambda a: True):
    got = udp(packet)
    if got is None:
        tell(False, what + ": no answer")
        return
    a = Answer(got)
    tell(a.good and a.code == code and a.an == an and (soa is None or a.has_soa() == soa) and also(a), what, a)


def is_address(a, name):
    record = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 60, 4) + b"\xc6\x13"
    return wire(name) in a.packet and record in a.packet and bool(a.flags & 0x0080)


def names():
    expect("A of an allowed name", question(GOOD), NOERROR, 1, also=lambda a: is_address(a, GOOD))
    odd = "wEb.eXaMpLe.tEsT"
    expect("in any spelling, which is repeated", question(odd), NOERROR, 1, also=lambda a: is_address(a, odd))
    expect("ANY is A", question(GOOD, ANY), NOERROR, 1, also=lambda a: is_address(a, GOOD))
    for name, t in (("AAAA", AAAA), ("HTTPS", HTTPS), ("SVCB", SVCB), ("TXT", TXT), ("SRV", SRV), ("MX", MX),
                    ("CNAME", CNAME), ("NS", NS)):
        expect(f"{name} of an allowed name is empty", question(GOOD, t), NOERROR, soa=True,
               also=lambda a: bool(a.flags & 0x0080))
        expect(f"{name} of another name: there is no such name", question(BAD, t), NXDOMAIN, soa=True)
    expect("A of another name", question(BAD), NXDOMAIN, soa=True, also=lambda a: bool(a.flags & 0x0080))
    expect("with EDNS it is told that it was blocked", question(BAD, extra=opt()), NXDOMAIN, soa=True,
           also=lambda a: a.ar == 1 and any(a.packet[i:i + 2] == b"\0\x0f" == a.packet[i + 4:i + 6]  # RFC 8914: Blocked
                                            for i in range(12, len(a.packet))))
    expect("without EDNS there is none in the answer", question(GOOD), NOERROR, 1, also=lambda a: a.ar == 0)
    expect("the root", question("", A), NOERROR)
    for what, name in (("a NUL in a name", "web.exam\0ple.test"), ("a space", "web .example.test"),
                       ("a dot in a label", None), ("an address", "93.184.216.34")):
        raw = b"\x0bweb.example\x04test\0" if name is None else None
        expect(what, question(name or "", raw=raw), NXDOMAIN)
    address = Answer(udp(question(GOOD))).packet[-4:]
    back = ".".join(str(b) for b in reversed(address)) + ".in-addr.arpa"
    expect("PTR of its address", question(back, PTR), NOERROR, 1, also=lambda a: a.packet.endswith(wire(GOOD)))
    expect("PTR of an address that stands for nothing", question("1.200.19.198.in-addr.arpa", PTR), NXDOMAIN)
    expect("PTR of another", question("34.216.184.93.in-addr.arpa", PTR), NXDOMAIN)


def edns():
    for what, extra in (("a buffer of 512", opt(512)), ("a cookie", opt(data=struct.pack(">HH", 10, 8) + b"12345678")),
                        ("DNSSEC", b"\0" + struct.pack(">HHBBHH", OPT, 1232, 0, 0, 0x8000, 0))):
        expect(f"EDNS with {what}", question(GOOD, extra=extra), NOERROR, 1, also=lambda a: a.ar == 1 and len(a.packet) < 512)
    # BADVERS is 16: its upper bits are in the OPT record.
    expect("EDNS of another version", question(GOOD, extra=opt(version=1)), 0,
           also=lambda a: a.ar == 1 and b"\0" + struct.pack(">H", OPT) in a.packet and
           a.packet[a.packet.rindex(b"\0" + struct.pack(">H", OPT)) + 5] == 1)


def wrong():
    expect("another class", question(GOOD, qclass=3), REFUSED)
    expect("another operation", question(GOOD, flags=0x2000), NOTIMP)
    expect("two questions", question(GOOD, counts=(2, 0, 0)) + wire(GOOD) + b"\0\1\0\1", FORMERR)
    expect("no question", struct.pack(">HHHHHH", 0x1234, 0x0100, 0, 0, 0, 0), FORMERR)
    expect("a pointer in the question", question("", raw=b"\xc0\x0c"), FORMERR)
    expect("a label of an unknown kind", question("", raw=b"\x45abcde\0"), FORMERR)
    expect("a name that is cut off", question(GOOD)[:20], FORMERR)
    for what, packet in (("an answer", question(GOOD, flags=0x8100)), ("five bytes", b"\x12\x34\0\0\0")):
        tell(udp(packet, wait=0.5) is None, f"{what} is not answered")
    expect("and the next question is", question(GOOD), NOERROR, 1)


def streams():
    got = [Answer(p) for p in tcp([question(GOOD), question(BAD), question(GOOD, AAAA)])]
    tell([(a.code, a.an) for a in got] == [(0, 1), (3, 0), (0, 0)], "TCP, three questions in one connection")
    got = Answer(tcp([question(GOOD)], piece=1)[0])
    tell(is_address(got, GOOD), "TCP, byte by byte", got)
    with socket.create_connection(SERVER, timeout=20) as s:
        s.sendall(b"\xff\xff" + b"x" * 100)
        try:
            tell(s.recv(10) == b"", "TCP, a length that no question has: closed")
        except ConnectionResetError:
            tell(True, "TCP, a length that no question has: closed")
    idle = [socket.create_connection(SERVER, timeout=20) for _ in range(100)]
    tell(Answer(tcp([question(GOOD)])[0]).an == 1, "TCP, beside 100 that say nothing")
    for s in idle:
        s.close()


names()
edns()
wrong()
streams()

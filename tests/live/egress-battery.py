# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients as people use them, unmodified, each on a name that is allowed and on ones that are not:

    egress-battery.py PROGRAM_AND_ARGUMENTS_UP_TO_THE_COMMAND...

Prints ok and not ok. What must be installed is in ./bootstrap; the rows with `extra` run where they
are. A denial has to be told as one, in the client's own words, and not be waited for."""
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

RUN = sys.argv[1:]
SOON = 40  # seconds: far more than a refusal takes, less than any of the time-outs below
OPEN = "web.example.test"  # 80 and 443
ONLY80 = "only80.example.test"  # 443 exists, but not for it
ONLY443 = "a.wild.example.test"  # 80 exists, but not for it
CLOSED = "evil.test"

FETCH = ("fetch(process.argv[1]).then(async r => { console.log(r.status, await r.text()); process.exit(r.ok ? 0 : 1) },"
         " e => { console.log(e.cause || e); process.exit(1) })")
URLLIB = ("import sys, urllib.request as u\n"
          "try: print(u.urlopen(sys.argv[1], timeout=60).read().decode())\n"
          "except OSError as e: sys.exit(repr(e) + str(e))")
TINY = ('my $r = HTTP::Tiny->new(timeout => 60)->get($ARGV[0]); print $r->{status}, " ", $r->{content};'
        " exit !$r->{success}")


@dataclass
class Row:
    name: str
    needs: str  # commands
    command: str  # sh; $U is the URL, $H its host
    schemes: str = "http https"
    ok: str = "path=/x"
    absent: str = "resolve|not known|ENOTFOUND"  # what it says of a name that there is not
    alert: str = "(?i)access.?(was.)?denied"  # ... of TLS that is denied
    http: str = "403"  # ... of HTTP that is denied
    extra: bool = False


ROWS = [
    Row("curl", "curl", "curl -sS --max-time 60 --fail-with-body --cacert /ca.pem $U"),
    Row("curl, another spelling", "curl", "curl -sS --max-time 60 --cacert /ca.pem $(echo $U | tr a-z A-Z | sed 's,/X$,./x,')",
        schemes="https"),
    Row("wget", "wget", "wget -O - -T 60 -t 1 --ca-certificate=/ca.pem $U"),
    # Its wget crashes in some static builds; nslookup has a resolver that is busybox's own.
    Row("busybox", "busybox", "busybox nslookup $H >look-$H; cat look-$H; A=$(sed -n '/^Name/,$s/^Address.*: //p' look-$H | head -n 1); "
        r'test -n "$A" && printf "GET /x HTTP/1.0\r\nHost: $H\r\n\r\n" | busybox nc $A 80 | tee nc-$H; grep -q "HTTP.* 200" nc-$H', schemes="http", absent="NXDOMAIN"),
    Row("python", "python3", "SSL_CERT_FILE=/ca.pem python3 -c '%s' $U" % URLLIB),
    Row("node", "node", "NODE_EXTRA_CA_CERTS=/ca.pem node -e '%s' $U" % FETCH),
    Row("perl", "perl", "perl -MHTTP::Tiny -e '%s' $U" % TINY, schemes="http", absent="599"),
    Row("openssl", "openssl", r"printf 'GET /x HTTP/1.0\r\nHost: %s\r\n\r\n' $H | "
        "openssl s_client -connect $H:443 -servername $H -CAfile /ca.pem -verify_return_error -ign_eof 2>&1 | "
        "grep -E 'path=|alert|known|resolution|getaddrinfo'; test $? = 0 && ! test $H != web.example.test",
        schemes="https", absent="known|resolution|getaddrinfo"),
    Row("git", "git", "GIT_SSL_CAINFO=/ca.pem git ls-remote ${U%/x}/www/repo.git", ok="refs/heads"),
    Row("static, glibc", "egress-static-glibc", "egress-static-glibc $H /x | grep -E 'path=|403' && test $H != a.wild.example.test",
        schemes="http"),
    Row("static, musl", "egress-static-musl", "egress-static-musl $H /x | grep -E 'path=|403' && test $H != a.wild.example.test",
        schemes="http", absent="does not resolve"),
    Row("java", "java javac", "java -Xshare:auto -XX:TieredStopAtLevel=1 -cp /clients Get $U", schemes="http", absent="Unresolved|Unknown",
        extra=True),
    Row("go", "go egress-go", "SSL_CERT_FILE=/ca.pem egress-go $U", absent="no such host", extra=True),
]

# Whole tasks: command, what it prints; then the same of a host that is not allowed.
TASKS = [
    ("git clone over https", "git", "GIT_SSL_CAINFO=/ca.pem git clone -q https://$H/www/repo.git c-$H && cat c-$H/file",
     "what is in the repository", "resolve"),
    ("npm install", "npm", "mkdir n-$H; cd n-$H; echo '{}' >package.json; npm install --registry http://$H/www/npm/ "
     "--no-audit --no-fund --no-update-notifier --fetch-retries 0 hello-box 2>&1 && node -e 'console.log(require(\"hello-box\"))'",
     "hello of npm", "ENOTFOUND"),
    ("pip download", "pip3", "python3 -m pip download --no-deps --disable-pip-version-check --no-cache-dir --retries 0 "
     "--timeout 60 --index-url http://$H/www/simple/ --trusted-host $H -d p-$H hello-box 2>&1 && "
     "unzip=$(python3 -m zipfile -l p-$H/*.whl) && echo \"$unzip\"", "hello_box", "not known|resolve|No matching"),
    ("cargo fetch", "cargo git", "mkdir -p k-$H/src k-$H/.cargo; cd k-$H; touch src/lib.rs; "
     r'''printf '[package]\nname = "k"\nversion = "0.1.0"\n[dependencies]\nhello-box = "1.0.0"\n' >Cargo.toml; '''
     r'''printf '[source.crates-io]\nreplace-with = "www"\n[source.www]\nregistry = "https://%s/www/index.git"\n' $H '''
     ">.cargo/config.toml; export CARGO_HOME=$PWD/home GIT_SSL_CAINFO=/ca.pem CARGO_HTTP_CAINFO=/ca.pem "
     "CARGO_NET_GIT_FETCH_WITH_CLI=true CARGO_NET_RETRY=0; cargo fetch 2>&1 && cat home/registry/src/*/hello-box-1.0.0/src/lib.rs",
     "hello of cargo", "resolve"),
    ("apt-get update over http", "apt-get", "mkdir -p a-$H/lists/partial a-$H/cache/archives/partial; cd a-$H; touch status; "
     "echo \"deb [trusted=yes] http://$H/www/apt ./\" >list; "
     "O=\"-o Dir::Etc::sourcelist=$PWD/list -o Dir::Etc::sourceparts=- -o Dir::State=$PWD -o Dir::State::lists=$PWD/lists "
     "-o Dir::State::status=$PWD/status -o Dir::Cache=$PWD/cache -o APT::Sandbox::User= -o Acquire::Retries=0 "
     "-o Acquire::Languages=none\"; apt-get $O --error-on=any update 2>&1 && apt-cache $O policy hello-box",
     "1.2.3-4", "resolve"),
    ("ssh", "ssh", "ssh -v -o BatchMode=yes -o StrictHostKeyChecking=no -o ConnectTimeout=60 x@$H true 2>&1 | tee s-$H; "
     "grep -q 'remote software version' s-$H", "remote software version", "resolve"),
]


def installed(row_needs):
    path = os.environ["BATTERY_PATH"]
    return all(shutil.which(n, path=path) for n in row_needs.split())


def run(command, url="", host=""):
    script = f"export PATH=/clients:$PATH U={url} H={host}; {command}"
    start = time.monotonic()
    p = subprocess.run(RUN + ["--", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=200, check=False)
    return p.returncode, p.stdout.decode(errors="replace"), time.monotonic() - start


def tell(ok, what, got):
    print(("ok - " if ok else "not ok - ") + what)
    if not ok:
        rc, text, took = got
        print(f"#   status {rc} after {took:.1f} s")
        for line in text.splitlines()[-12:]:
            print("#   " + line)
    sys.stdout.flush()


def allowed(what, got, pattern):
    tell(got[0] == 0 and re.search(pattern, got[1]) is not None, what, got)


def denied(what, got, pattern):
    tell(got[0] != 0 and re.search(pattern, got[1]) is not None and got[2] < SOON, what, got)


def client(row):
    for scheme in row.schemes.split():
        allowed(f"{row.name}: {scheme}", run(row.command, f"{scheme}://{OPEN}/x", OPEN), row.ok)
    scheme = row.schemes.split()[-1]
    denied(f"{row.name}: a name that is not listed", run(row.command, f"{scheme}://{CLOSED}/x", CLOSED), row.absent)
    if "https" in row.schemes:
        denied(f"{row.name}: TLS that is denied says so", run(row.command, f"https://{ONLY80}/x", ONLY80), row.alert)
    if "http " in row.schemes + " ":
        denied(f"{row.name}: HTTP that is denied says so", run(row.command, f"http://{ONLY443}/x", ONLY443), row.http)


def main():
    for row in ROWS:
        if installed(row.needs):
            client(row)
        elif row.extra:
            print(f"# {row.name}: not installed")
        else:
            tell(False, f"{row.name}: installed", (0, row.needs, 0))
    for name, needs, command, ok, absent in TASKS:
        host = "git.example.test" if name == "ssh" else OPEN
        if needs in ("apt-get", "cargo git") and not installed(needs):
            print(f"# {name}: not installed")
            continue
        if not installed(needs):
            tell(False, f"{name}: installed", (0, needs, 0))
            continue
        allowed(name, run(command, host=host), ok)
        denied(f"{name}, from a host that is not listed", run(command, host=CLOSED), absent)


main()

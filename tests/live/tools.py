# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tool matrix: what developers run works inside as it does outside.

    tools.py AGENTBOX PROFILES WORKSPACE STATE CALLER      prints TAP lines for 50-tools.sh

Each row is a script. It runs twice in the same, fresh directory, first outside and then inside,
with the same environment but for HOME, and must end both times with status 0, or the one the row
names, and with the same output on both streams. So that a row cannot pass by saying nothing, it
says what its output holds.
"""
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from typing import NamedTuple, Optional

# What CI installs: there, one of these that is missing is a failure and no skip.
MUST_BE_THERE = set(
    "bash sh sort tar make gcc clang git python3 perl sqlite3 strace gdb tmux script zsh setsid node npm java "
    "javac jar go".split()
)
TIMEOUT_S = 300


class Row(NamedTuple):
    name: str
    needs: str  # programs, separated by spaces
    script: str  # for bash -e
    has: str  # an expression that the output matches
    profiles: str = "default"  # the first for each caller, the others for an ordinary user alone
    callers: str = "root user"  # who runs it: the rest differs by nothing that the row shows
    status: int = 0
    known: bool = False  # `has` is all that it says: a long one, run outside for an ordinary user alone


ALL = "root user nested"

C_HELLO = r"""cat >hello.c <<'C'
#include <pthread.h>
#include <stdio.h>
static void *thread(void *arg) { return arg; }
int main(void)
{
	pthread_t t;
	void *ret = NULL;
	if (pthread_create(&t, NULL, thread, "hello") || pthread_join(t, &ret))
		return 1;
	return puts(ret) < 0;
}
C
"""

GIT = r"""export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$PWD/gitconfig
git config --global user.name tester
git config --global user.email tester@example.org
git config --global init.defaultBranch trunk
git config --global protocol.file.allow always
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
git init -q one
echo a >one/a
git -C one add a
git -C one commit -q -m first
"""

PYTHON_POOL = r"""cat >pool.py <<'P'
import concurrent.futures, multiprocessing, sys
def square(x):
    return x * x
if __name__ == "__main__":
    if sys.argv[1] == "futures":
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            print(sum(pool.map(square, range(50))))
    else:
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            print(sum(pool.map(square, range(50))))
P
python3 pool.py """

NODE_PACKAGE = r"""mkdir -p lib/bin app
echo '{"name": "lib", "version": "1.2.3", "bin": {"lib": "bin/lib.js"},
 "scripts": {"prepare": "node -e 1"}}' >lib/package.json
printf '#!/usr/bin/env node\nconsole.log("lib runs")\n' >lib/bin/lib.js
chmod +x lib/bin/lib.js
echo '{"name": "app", "version": "1.0.0", "private": true, "dependencies": {"lib": "file:../lib"},
 "scripts": {"start": "lib", "postinstall": "echo installed >mark"}}' >app/package.json
cd app
"""

JAVA = r"""cat >Hello.java <<'J'
import java.util.stream.IntStream;
public class Hello {
	public static void main(String[] args) throws Exception {
		Thread t = new Thread(() -> System.out.println("thread"));
		t.start();
		t.join();
		System.out.println(IntStream.range(0, 1000).parallel().sum());
	}
}
J
"""

ROWS = [
    Row("bash", "bash", r"""
shopt -s lastpipe
f() { local -a a=("$@"); echo "${#a[@]} ${a[*]^^}"; }
f one two
cat <(echo sub) <<<here
coproc cat; echo co >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; echo "$l"
trap 'echo term' TERM; kill -TERM $$
(exit 7) || echo "status $?"
""", r"2 ONE TWO\nsub\nco\nterm\nstatus 7", callers=ALL),
    Row("bash exit status", "bash", "echo out; echo err >&2; exit 42", "out", callers=ALL, status=42),
    Row("bash killed", "bash", "kill -SEGV $$", "", status=128 + signal.SIGSEGV),
    Row("zsh here-document", "zsh", r"""
zsh -f -c $'cat <<E\nhere $((1 + 1))\nE\ncat <<<string\ncat =(echo file)\necho **/*(N)'
""", "here 2\nstring\nfile", callers=ALL),
    Row("coreutils", "sort", r"""
seq 1 200000 | shuf --random-source=<(yes) | sort -S 1M -n | tail -n 1
d=$(mktemp -d); f=$(mktemp "$d/XXXX"); t=$(mktemp -p /tmp); echo x >"$f"; rm "$t"
mkdir tree; echo a >tree/a; chmod 640 tree/a; touch -d '2020-02-02 UTC' tree/a; ln -s a tree/s
ln tree/a tree/h; mkfifo tree/p
cp -a tree copy; stat -c '%n %a %h %F %Y' copy/a copy/h copy/s copy/p | sort | sed 's/ [0-9]*$//;1!b'
diff <(cd tree && ls -l --time-style=+%s a) <(cd copy && ls -l --time-style=+%s a)
mv copy moved; install -m 755 tree/a inst; ls -F; timeout 60 nice -n 1 true; truncate -s 3M big
split -b 1M big part.; cat part.* | cmp - big; date -u -d @0 +%F; nproc; stdbuf -oL echo buf; df . >/dev/null
shred -u inst; seq 3 | tac | paste -sd,; head -c 8 /dev/zero | od -An -tx1; id -u >/dev/null; tty || true
""", r"200000\n(.*\n)*1970-01-01", callers=ALL),
    Row("findutils, grep, sed, awk", "find xargs grep sed awk", r"""
mkdir -p a/b; for i in 1 2 3; do echo "line $i" >a/b/$i; done
find . -name '[0-9]' -newermt 1980-01-01 -print0 | sort -z | xargs -0 -P 2 -n 1 cat | sort
grep -rc line a | sort; sed -i 's/line/LINE/' a/b/*; awk '{ n += $2 } END { print n }' a/b/*; find a -delete; ls
""", r"line 3\n(.*\n)*6"),
    Row("tar", "tar", r"""
mkdir -p src/d; echo a >src/d/a; chmod 751 src/d; ln -s d/a src/s; ln src/d/a src/h
tar czf t.tgz src; tar tzf t.tgz | sort; mkdir x; tar xzpf t.tgz -C x; diff -r src x/src
stat -c '%a %n' x/src/d; tar cf - src | tar xf - -C x --strip-components 1; readlink x/s
for c in J j; do tar c${c}f t.$c src 2>/dev/null && tar t${c}f t.$c | wc -l; done; true
""", r"src/d/a\n(.*\n)*751", callers=ALL),
    Row("make -j4", "make gcc", r"""
for i in $(seq 24); do echo "int f$i(void) { return $i; }" >f$i.c; done
{ for i in $(seq 24); do echo "int f$i(void);"; done
  echo '#include <stdio.h>'; echo 'int main(void) { int n = 0;'
  for i in $(seq 24); do echo "n += f$i();"; done; echo 'printf("%d\n", n); return 0; }'; } >main.c
printf 'OBJS := $(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $(OBJS)\n\t$(CC) -o $@ $^\n%%.o: %%.c\n\t$(CC) -c -o $@ $<\nsub:\n\t+@$(MAKE) -s -f Makefile prog\n' >Makefile
make -s -j4 sub 2>&1; ./prog; make -j4 prog | sed 's/make.*: //'; make -j4 absent 2>/dev/null || echo "status $?"
""", r"300\n(.*\n)*status 2", callers=ALL),
    Row("gcc", "gcc", C_HELLO + r"""
gcc -O2 -pthread -o hello hello.c; ./hello; gcc -pipe -g -flto -pthread -o lto hello.c && ./lto
gcc -shared -fPIC -o libh.so hello.c; echo 'int main(void) { return }' | gcc -x c - 2>&1 | grep -o 'error: .*'
gcc -pthread -static-pie -o static hello.c 2>/dev/null && ./static; cp hello /tmp/hello.$$; /tmp/hello.$$; rm /tmp/hello.$$
""", r"hello\nhello\nerror: ", callers=ALL),
    Row("gcc sanitizers", "gcc", C_HELLO + r"""
gcc -fsanitize=address,undefined -pthread -o hello hello.c; ./hello
echo 'int main(int c, char **v) { int a[2] = {0}; (void)v; return a[c + 1]; }' >bad.c
gcc -fsanitize=address -o bad bad.c; ./bad 2>&1 | grep -o 'stack-buffer-overflow' | head -n 1
""", "hello\nstack-buffer-overflow"),
    Row("g++", "g++", r"""
echo '#include <iostream>
#include <thread>
int main() { try { std::thread([] { std::cout << "thread\n"; }).join(); throw 1; } catch (int) { std::cout << "caught\n"; } }' >a.cc
g++ -pthread -o a a.cc; ./a
""", "thread\ncaught", callers="user"),
    Row("clang", "clang", C_HELLO + "clang -O1 -pthread -o hello hello.c; ./hello", "hello", callers=ALL),
    Row("gdb -batch", "gdb gcc", C_HELLO + r"""
gcc -g -pthread -o hello hello.c
gdb -nx -batch -ex 'set confirm off' -ex 'break thread' -ex run -ex 'print (char *)arg' -ex 'info threads' \
	-ex 'x/1i $pc' -ex continue ./hello >log 2>&1 || echo "status $?"
grep -E '^\$1|^hello|exited|warning: Error disabling|ptrace|not permitted' log | sed -E 's/0x[0-9a-f]+/ADDR/;s/(process|LWP) [0-9]+/\1 N/' | sort
gdb -nx -batch -ex run --args true 2>&1 | grep -oE 'exited normally|not permitted|Error disabling'
""", r"\$1 = ADDR .hello.\n(.*\n)*exited normally", callers=ALL),
    Row("gdb attach", "gdb sleep", r"""
sleep 600 & pid=$!
gdb -nx -batch -p $pid -ex 'info inferiors' -ex detach 2>&1 | grep -cE 'process [0-9]+'
kill $pid; wait $pid || echo "status $?"
gdb -nx -batch -ex run -ex bt -ex kill --args sh -c 'kill -ABRT $$' 2>&1 | grep -o 'signal SIGABRT'
""", "status 143\nsignal SIGABRT"),
    Row("strace -f", "strace", r"""
strace -f -o log true; grep -c execve log; grep -o 'exited with 0' log
strace -f -e trace=execve,clone,clone3,vfork,fork -o log sh -c 'true; /bin/true & wait; /bin/false' || echo "status $?"
grep -c 'execve.*) *= 0' log; strace -c -o sum ls >/dev/null; grep -c total sum
strace -e inject=getppid:error=EPERM -o log sh -c 'true'
""", r"exited with 0\nstatus 1", callers=ALL),
    Row("git", "git", GIT + r"""
git clone -q one two; git -C two log --format='%h %s'; git clone -q --bare one bare
git -C two worktree add -q ../wt -b side; echo b >wt/b; git -C wt add b; git -C wt commit -q -m second
git -C two merge -q side; git -C two remote set-url origin ../bare; git -C two push -q origin trunk
git -C one -c protocol.file.allow=always submodule --quiet add "$PWD/bare" sub
git -C one commit -q -m submodule; git -C one submodule status | cut -c 1-12
git -C two gc -q --prune=now; git -C two fsck --no-progress; git -C two status --short; git -C two stash list
git clone -q --depth 1 "file://$PWD/bare" shallow; git -C shallow rev-list --count HEAD
git -C two tag v1; git -C two describe --tags; git -C two archive HEAD | tar t; git -C two rebase -q HEAD~1
git -C two worktree remove ../wt; git -C two bisect start -q 2>&1 | head -n 0; git -C two grep -c b
""", r"first\n(.*\n)*v1", callers=ALL),
    Row("git hooks of the run", "git", GIT + r"""
printf '#!/bin/sh\necho hook ran\n' >one/.git/hooks/pre-commit; chmod +x one/.git/hooks/pre-commit
echo c >one/c; git -C one add c; git -C one commit -q -m third 2>&1
""", "hook ran"),
    Row("python venv", "python3", r"""
python3 -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'
. v/bin/activate; command -v python | sed "s|$PWD/||"; python -m compileall -q v/lib >/dev/null; python -c 'import ssl, ctypes, hashlib; print("imports")'
""", "True\nv/bin/python\nimports", callers=ALL),
    Row("python fork pool", "python3", PYTHON_POOL + "fork", "40425", callers=ALL),
    Row("python forkserver pool", "python3", PYTHON_POOL + "forkserver", "40425", callers=ALL),
    Row("python spawn pool", "python3", PYTHON_POOL + "spawn", "40425", callers="user"),
    Row("python ProcessPoolExecutor", "python3", PYTHON_POOL + "futures", "40425"),
    Row("python library", "python3", r"""
python3 - <<'P'
import asyncio, multiprocessing, os, pty, queue, socket, sqlite3, subprocess, tempfile, threading, mmap
from multiprocessing import shared_memory
m, s = os.openpty()
os.write(s, b"tty\n"); print(os.isatty(s), os.read(m, 16))
with tempfile.NamedTemporaryFile() as f, tempfile.TemporaryDirectory() as d: f.write(b"x"); print(d.startswith("/tmp/"))
db = sqlite3.connect("t.db"); db.execute("pragma journal_mode=wal"); db.execute("create table t (a)")
db.executemany("insert into t values (?)", [(i,) for i in range(99)]); db.commit()
print(db.execute("select sum(a) from t").fetchone())
shm = shared_memory.SharedMemory(create=True, size=4096); shm.buf[0] = 7; print(shm.buf[0]); shm.close(); shm.unlink()
with multiprocessing.Lock(): print("lock")
async def main():
    server = await asyncio.start_unix_server(lambda r, w: (w.write(b"unix"), w.close()), "s")
    r, w = await asyncio.open_unix_connection("s"); print(await r.read()); w.close(); server.close()
    p = await asyncio.create_subprocess_exec("echo", "sub", stdout=-1); print(await p.communicate())
    print(await asyncio.to_thread(lambda: "thread"))
asyncio.run(main())
with socket.create_server(("127.0.0.1", 0)) as t:
    c = socket.create_connection(t.getsockname()); p, _ = t.accept(); p.sendall(b"loop"); print(c.recv(4)); c.close(); p.close()
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", "test -t 0 && echo terminal"])
print(os.read(fd, 100)); print(os.waitpid(pid, 0)[1])
f = mmap.mmap(-1, 4096); f[:3] = b"map"; print(bytes(f[:3]))
print(len(os.urandom(8)), os.memfd_create("m") > 2, os.cpu_count() == len(os.sched_getaffinity(0)))
e = threading.Event(); threading.Timer(0.01, e.set).start(); print(e.wait(60))
print(subprocess.run(["sh", "-c", "exit 3"]).returncode)
P
""", r"True b'tty\\r\\n'\n(.*\n)*b'unix'\n(.*\n)*3", callers=ALL),
    Row("node", "node", r"""
echo 'process.send("forked")' >child.js
cat >a.js <<'J'
const { Worker, isMainThread, parentPort } = require('worker_threads'), cp = require('child_process'), fs = require('fs'), net = require('net')
if (!isMainThread) { parentPort.postMessage('worker'); return }
const later = []
later.push(new Promise(r => new Worker(__filename).on('message', r)))
later.push(new Promise(r => cp.fork('child.js').on('message', r)))
later.push(new Promise(r => cp.exec('echo exec; exit 3', (e, out) => r(out.trim() + e.code))))
later.push(new Promise(r => { const w = fs.watch('.', (t, f) => { if (f === 'watched') { w.close(); r('watch ' + f) } })
  setTimeout(() => fs.writeFileSync('watched', 'x'), 50) }))
later.push(fs.promises.readFile(__filename).then(b => 'read ' + (b.length > 100)))
later.push(new Promise(r => { const s = net.createServer(c => c.end('net')).listen('sock', () =>
  net.connect('sock').on('data', d => { s.close(); r(String(d)) })) }))
later.push(WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => 'wasm'))
console.log(String(cp.execFileSync('echo', ['sync'])).trim(), cp.spawnSync('sh', ['-c', 'cat'], { input: 'stdin' }).stdout.toString())
Promise.all(later).then(all => { console.log(all.join('\n')); require('crypto').randomBytes(8); console.log(require('os').tmpdir()) })
J
node a.js
""", "sync stdin\nworker\nforked\nexec3\nwatch watched", callers=ALL),
    Row("npm install of a folder", "npm node", NODE_PACKAGE + r"""
export npm_config_cache=$(mktemp -d) npm_config_update_notifier=false
trap 'rm -rf "$npm_config_cache"' EXIT
npm install --offline --no-audit --no-fund --silent; npm start --silent; cat mark; ls node_modules; npm pack --silent ../lib
""", "lib runs\ninstalled\nlib\nlib-1.2.3.tgz", "default build", ALL, known=True),
    Row("java", "javac java", JAVA + "javac -d out Hello.java; java -Xshare:auto -cp out Hello", "thread\n499500", "default", ALL, known=True),
    Row("jar", "jar javac java", JAVA + r"""
javac Hello.java; jar cfe h.jar Hello Hello.class; java -XX:+UseSerialGC -jar h.jar""", "499500", "build", "user"),
    Row("go", "go", r"""
cache=$(mktemp -d); trap 'chmod -R u+w "$cache"; rm -rf "$cache"' EXIT
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=$cache/build GOPATH=$cache/go
echo 'module example.org/hello' >go.mod
echo 'package main
import ("fmt"; "os/exec")
func main() { c := make(chan string); go func() { c <- "goroutine" }(); o, _ := exec.Command("echo", "exec").Output(); fmt.Print(<-c, "\n", string(o)) }' >main.go
go build -o hello .; ./hello; go vet ./...; go run .
""", "goroutine\nexec\ngoroutine\nexec", "default build", ALL, known=True),
    Row("cargo", "cargo rustc", r"""
export CARGO_HOME=$(mktemp -d); trap 'rm -rf "$CARGO_HOME"' EXIT
cargo init -q --vcs none --name hello; cargo build -q --offline; target/debug/hello; cargo test -q --offline 2>&1 | grep -o 'test result: ok'
""", "Hello, world!\ntest result: ok", "default build", ALL, known=True),
    Row("perl", "perl", r"""
perl -MFile::Temp=tempfile -MIO::Socket::UNIX -MPOSIX -e 'my ($h, $n) = tempfile(UNLINK => 1); print $h "x"; close $h; print -s $n, "\n";
 my $p = fork; if (!$p) { exec "sh", "-c", "exit 5" } waitpid $p, 0; print $? >> 8, "\n"; print `echo back`; print strftime("%Y\n", gmtime 0); print join(",", sort map { $_ * 2 } 1 .. 4), "\n"'
perl -e '$| = 1; socketpair(my $a, my $b, 1, 1, 0) or die $!; syswrite $a, "pair\n"; sysread $b, my $l, 9; print $l; kill 9, $$' || echo "status $?"
""", r"1\n5\nback\n1970\n2,4,6,8\npair\nstatus 137", callers=ALL),
    Row("sqlite3", "sqlite3", r"""
sqlite3 t.db 'pragma journal_mode=wal; create table t(a); insert into t values(1),(2); select sum(a) from t;'
sqlite3 t.db '.backup b.db' 'vacuum;'; sqlite3 b.db 'select count(*) from t; pragma integrity_check;'; ls
""", r"wal\n3\n2\nok", callers=ALL),
    Row("tmux", "tmux", r"""
export TMUX_TMPDIR=$(mktemp -d) SHELL=/bin/sh
tmux -f /dev/null new-session -d -s s -x 80 -y 10 'echo in the pane; stty size; exec sleep 600'
for i in $(seq 600); do tmux capture-pane -p -t s | grep -q '^10\|^9' && break; sleep 0.1; done
tmux capture-pane -p -t s | sed '/^$/d'; tmux list-sessions -F '#{session_name}'; tmux kill-server
""", r"in the pane\n\d+ 80\ns", callers=ALL),
    Row("script", "script", r"""
SHELL=/bin/sh script -qec 'test -t 1 && echo a terminal; tty | sed s/[0-9].*//; exit 3' log </dev/null || echo "status $?"; grep -c terminal log
""", r"a terminal\r?\n(.*\n)*status 3\n2", callers=ALL),
    Row("job control, setsid", "bash setsid", r"""
set -m; sleep 600 & jobs -r | sed 's/  */ /g'; kill %1; wait %1 || echo "status $?"; setsid -w sh -c 'exit 4' || echo "status $?"; (sleep 0.1; echo orphan) & wait
flock lock sh -c 'echo locked'; ulimit -Sn >/dev/null
""", "status 143\nstatus 4\norphan\nlocked"),
    Row("cmake", "cmake make gcc", C_HELLO + r"""
printf 'cmake_minimum_required(VERSION 3.10)\nproject(hello C)\nfind_package(Threads)\nadd_executable(hello hello.c)\ntarget_link_libraries(hello Threads::Threads)\n' >CMakeLists.txt
cmake -B b . >/dev/null; cmake --build b >/dev/null; b/hello""", "hello", "build", "user"),
]


class End(NamedTuple):
    status: int
    out: str
    err: Optional[str]  # None: not known

    def text(self):
        return f"status {self.status}\n{self.out}\n{self.err}"

    def is_as(self, other):
        return self[:2] == other[:2] and (other.err is None or self.own_errors() == other.own_errors())

    def own_errors(self):
        """Without the lines of agentbox, and without numbers: a shell names processes in them."""
        lines = (line for line in self.err.splitlines() if not line.startswith("agentbox:"))
        return [re.sub(r" *\d+", " N", line) for line in lines]


class Matrix:
    def __init__(self, agentbox, profiles, workspace, state, caller):
        self.agentbox, self.state, self.caller = agentbox, state, caller
        self.profiles, self.workspace = profiles, workspace
        self.home = os.path.join(os.path.dirname(workspace), "home")
        self.failed = 0
        self.path = os.environ["PATH"].split(":")

    def toolchains(self):
        """Folders of bin/ in the caller's home that need base.add, newest name first."""
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            return
        for parent in (".rustup/toolchains", "go", "sdk"):
            base = os.path.join(home, parent)
            try:
                names = sorted(os.listdir(base), reverse=True) if parent != "go" else [""]
            except OSError:
                continue
            for name in names:
                yield os.path.realpath(os.path.join(base, name))

    def tool(self, name):
        """Where a program is: None, or the folder to add to the base ("" for none)."""
        found = shutil.which(name, path=":".join(self.path))
        if found:
            return ""
        for folder in self.toolchains():
            if os.access(os.path.join(folder, "bin", name), os.X_OK):
                return folder
        return None

    def profile(self, name, folders):
        path = os.path.join(self.profiles, name + ".yaml")
        if not folders:
            return path
        with open(path, encoding="utf-8") as f:
            text = f.read()
        text = text.replace("sandbox:\n", f"sandbox:\n  base: {{from: host, add: {folders}}}\n", 1)
        path = os.path.join(self.profiles, f"added-{name}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def once(self, row, folder, command, folders):
        """One run in a fresh directory."""
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        env = {
            "PATH": ":".join(self.path),
            "HOME": self.home,
            "USER": "agent",
            "LOGNAME": "agent",
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "TMPDIR": "/tmp",
        }
        path = "".join(f"PATH={f}/bin:$PATH\n" for f in folders)
        argv = command + ["bash", "-e", "-c", path + row.script]
        p = subprocess.Popen(
            argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )
        try:
            out, err = p.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            err += b"\n(killed after %d s)" % TIMEOUT_S
        # agentbox ends as a shell would: 128 and the signal.
        status = p.returncode if p.returncode >= 0 else 128 - p.returncode
        return End(status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def say(self, good, text, why=""):
        print(("ok - " if good else "not ok - ") + text, flush=True)
        if not good:
            self.failed += 1
            for line in why.splitlines()[-30:]:
                print("#   " + re.sub(r"[^\x20-\x7e\t]", "?", line))

    def run(self, row):
        where = {name: self.tool(name) for name in row.needs.split()}
        absent = [name for name, folder in where.items() if folder is None]
        if absent:
            must = os.environ.get("AGENTBOX_MUST_WORK") == "1" and MUST_BE_THERE & set(absent)
            if must:
                self.say(False, f"{row.name}: {', '.join(sorted(must))} must be installed")
            else:
                print(f"ok - {row.name} # SKIP not installed: {', '.join(absent)}")
            return
        folders = sorted({f for f in where.values() if f})
        folder = os.path.join(self.workspace, "row")
        want = End(row.status, row.has + "\n", None)
        if not row.known or self.caller == "user":
            end = self.once(row, folder, [], folders)
            good = end.is_as(want) if row.known else \
                end.status == row.status and re.search(row.has, end.out) is not None
            self.say(good, f"outside: {row.name}", end.text())
            want = end
        profiles = row.profiles.split()
        for profile in profiles if self.caller == "user" else profiles[:1]:
            inside = [self.agentbox, "run", "--state", self.state, "-p", self.profile(profile, folders),
                      "-w", self.workspace, "--workdir", folder, "--"]
            got = self.once(row, folder, inside, folders)
            label = row.name if profile == "default" else f"{row.name} ({profile}.yaml)"
            self.say(got.is_as(want), f"inside: {label}", f"inside: {got.text()}\noutside: {want.text()}")


def main():
    matrix = Matrix(*sys.argv[1:6])
    for row in ROWS:
        if matrix.caller in row.callers.split():
            matrix.run(row)
    return matrix.failed > 0


if __name__ == "__main__":
    sys.exit(main())

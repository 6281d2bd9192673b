"""Everyday tools of people and agents work in a sandbox as they do without one.

Each test is skipped, with a message, if its tool is missing. A tool that succeeds must not cause a
denial either, unless the test says so.
"""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal
from support.runner import main
from support.sandboxes import (
    READS_ALL,
    WRITES_WORKSPACE,
    permissions,
    sandbox_test,
    special,
)


def works(site, script, *, denials=0, **options):
    """Runs a bash script that must succeed without a denial. Returns its output."""
    ended = site.run(["bash", "-ec", script], **options)
    equal((ended.code, ended.signal), (0, None), "end of %r: %s" % (script, ended.text[-800:]))
    if denials is not None:
        equal(len(ended.exited["denials"]), denials, "denials: %s" % ended.exited["denials"])
    return ended.text


def python_works(site, script, **options):
    path = site.file("program.py", script)
    return works(site, "%s %s" % (PYTHON, path), **options)


# Building and testing


@sandbox_test(needs=["gcc", "make"])
def gcc_and_make(site):
    site.file("a.c", '#include <stdio.h>\nint b(void);\nint main(void) { printf("%d\\n", b()); }\n')
    site.file("b.c", "int b(void) { return 42; }\n")
    site.file(
        "Makefile",
        "prog: a.o b.o\n\t$(CC) -o $@ $^\nrun: prog\n\t./prog\nclean:\n\trm -f *.o prog\n",
    )
    text = works(site, "make -s -j2 run; make -s clean; gcc -pipe -flto -g a.c b.c -o p && ./p")
    equal(text, "42\n42\n", "output")


@sandbox_test(needs=["gcc"])
def programs_with_a_sanitizer(site):
    site.file(
        "ok.c", "#include <stdlib.h>\nint main(void) { char *p = malloc(9); p[8] = 1; free(p); }\n"
    )
    site.file(
        "bad.c",
        "#include <stdlib.h>\nint main(int c, char **v) { char *p = malloc(9); p[8 + c] = 1; }\n",
    )
    text = works(
        site,
        "gcc -fsanitize=address,undefined ok.c -o ok || { echo no sanitizer; exit 0; }\n"
        "gcc -fsanitize=address,undefined bad.c -o bad\n./ok && echo fine; ./bad 2>&1 | grep -o heap-buffer-overflow | head -1",
    )
    check(text in ("no sanitizer\n", "fine\nheap-buffer-overflow\n"), text)


@sandbox_test(needs=["git"])
def git_over_a_local_transport(site):
    site.repository("upstream")
    text = works(
        site,
        "git clone -q upstream a; cd a; echo x > x; git add x; git commit -qm x; "
        "git checkout -q -b topic; git push -q origin topic; cd ..; "
        "git -C upstream log -1 --format=%s topic; git clone -q --bare upstream bare.git; "
        "git -C bare.git log -1 --format=%s topic",
        env=site.git_environment(),
    )
    equal(text, "x\nx\n", "output")


# Python


@sandbox_test
def python_multiprocessing_by_every_method(site):
    text = python_works(
        site,
        """
import multiprocessing as mp
def square(n):
    return n * n
def tell(queue, lock):
    with lock:
        queue.put("told")
if __name__ == "__main__":
    for method in ("fork", "forkserver", "spawn"):
        context = mp.get_context(method)
        with context.Pool(2) as pool:
            print(method, pool.map(square, range(5)))
        queue, lock = context.Queue(), context.Lock()
        process = context.Process(target=tell, args=(queue, lock))
        process.start()
        print(queue.get(timeout=30))
        process.join()
    with context.Manager() as manager:
        shared = manager.dict()
        shared["a"] = 1
        print(dict(shared))
    from multiprocessing import shared_memory
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.buf[:5] = b"hello"
    again = shared_memory.SharedMemory(name=memory.name)
    print(bytes(again.buf[:5]))
    again.close(); memory.close(); memory.unlink()
    from multiprocessing.connection import Client, Listener
    import threading
    with Listener(None, "AF_UNIX") as listener:
        threading.Thread(target=lambda: listener.accept().send("hi")).start()
        print(Client(listener.address).recv())
""",
    )
    expected = "".join("%s [0, 1, 4, 9, 16]\ntold\n" % m for m in ("fork", "forkserver", "spawn"))
    equal(text, expected + "{'a': 1}\nb'hello'\nhi\n", "output")


@sandbox_test
def python_asyncio(site):
    text = python_works(
        site,
        """
import asyncio, socket, sys, threading
async def main():
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    threading.Thread(target=lambda: loop.call_soon_threadsafe(done.set_result, "woken")).start()
    print(await asyncio.wait_for(done, 20))
    process = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print((await process.communicate(b"piped"))[0].decode())
    async def serve(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()
    for make, connect in (
        (lambda: asyncio.start_server(serve, "127.0.0.1", 0), None),
        (lambda: asyncio.start_server(serve, "localhost", 0), None),
        (lambda: asyncio.start_unix_server(serve, "sock"), "sock"),
        (lambda: asyncio.start_unix_server(serve, "/tmp/sock"), "/tmp/sock"),
    ):
        server = await make()
        if connect:
            reader, writer = await asyncio.open_unix_connection(connect)
        else:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("localhost", port)
        writer.write(b"echoed\\n")
        print((await reader.readline()).decode(), end="")
        writer.close()
        server.close()
    print(await loop.run_in_executor(None, lambda: "executor"))
    print(socket.getaddrinfo("localhost", 80, socket.AF_INET)[0][4])
asyncio.run(main())
""",
    )
    equal(text, "woken\npiped\n" + "echoed\n" * 4 + "executor\n('127.0.0.1', 80)\n", "output")


@sandbox_test
def python_concurrent_futures_and_subprocesses(site):
    text = python_works(
        site,
        """
import concurrent.futures as cf, os, subprocess, tempfile
def work(n):
    return n, os.getpid() > 0
if __name__ == "__main__":
    with cf.ProcessPoolExecutor(2) as pool:
        print([n for n, _ in pool.map(work, range(4))])
    with cf.ThreadPoolExecutor(8) as pool:
        results = pool.map(lambda n: subprocess.check_output(["echo", str(n)]).strip(), range(20))
        print(sum(map(int, results)))
    with tempfile.TemporaryDirectory() as place, tempfile.NamedTemporaryFile() as file:
        print(os.path.dirname(place), os.path.dirname(file.name))
    print(subprocess.run("exit 3", shell=True, start_new_session=True).returncode)
    pid, status = os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    print(status, os.cpu_count() > 0, os.sched_getaffinity(0) != set())
""",
    )
    equal(text, "[0, 1, 2, 3]\n190\n/tmp /tmp\n3\n0 True True\n", "output")


@sandbox_test
def python_makes_a_virtual_environment(site):
    text = works(
        site,
        "%s -m venv --without-pip v; . v/bin/activate; python -c 'import sys; print(sys.prefix)'"
        % PYTHON,
    )
    equal(text, site.inside("v") + "\n", "prefix")


@sandbox_test
def databases_with_a_write_ahead_log(site):
    text = python_works(
        site,
        """
import sqlite3, multiprocessing as mp
def add(n):
    base = sqlite3.connect("base.db", timeout=30)
    for i in range(20):
        with base:
            base.execute("insert into t values (?)", (n * 100 + i,))
    base.close()
if __name__ == "__main__":
    base = sqlite3.connect("base.db")
    print(base.execute("pragma journal_mode=wal").fetchone()[0])
    base.execute("create table t (n)")
    base.commit()
    with mp.Pool(4) as pool:
        pool.map(add, range(4))
    print(base.execute("select count(*) from t").fetchone()[0])
    print(base.execute("pragma integrity_check").fetchone()[0])
""",
    )
    equal(text, "wal\n80\nok\n", "output")


# Node


@sandbox_test(needs=["node"])
def node_with_children_threads_and_servers(site):
    site.file(
        "program.js",
        """
const { execFileSync, spawnSync, fork, exec } = require('child_process')
const { Worker, isMainThread, parentPort } = require('worker_threads')
const http = require('http'), net = require('net'), fs = require('fs'), os = require('os')
if (process.argv[2] === 'child') { process.send('child'); process.disconnect(); return }
if (!isMainThread) { parentPort.postMessage('thread'); return }
const once = (who, what) => new Promise((yes, no) => { who.once(what, yes); who.once('error', no) })
;(async () => {
    console.log(execFileSync('echo', ['sync']).toString().trim())
    const spawned = spawnSync('cat', { input: 'spawned' })
    console.log(spawned.stdout.toString(), spawned.error || 'fine')
    console.log(await once(fork(__filename, ['child']), 'message'))
    console.log(await once(new Worker(__filename), 'message'))
    const server = http.createServer((q, r) => r.end('served')).listen(0, 'localhost')
    await once(server, 'listening')
    const get = http.get({ port: server.address().port, host: 'localhost', agent: false })
    const answer = await once(get, 'response')
    console.log((await once(answer, 'data')).toString())
    server.close()
    const local = net.createServer(s => s.end('local')).listen('node.sock')
    await once(local, 'listening')
    console.log((await once(net.connect('node.sock'), 'data')).toString())
    local.close()
    const watcher = fs.watch('.')
    setTimeout(() => fs.writeFileSync('seen', 'x'), 50)
    await once(watcher, 'change')
    watcher.close()
    console.log('watched', os.networkInterfaces().lo !== undefined)
    exec('exit 7', error => console.log(error.code))
})()
""",
    )
    text = works(site, "node program.js")
    expected = "sync\nspawned fine\nchild\nthread\nserved\nlocal\nwatched true\n7\n"
    equal(text, expected, "output")


# Debuggers


@sandbox_test(needs=["gdb", "gcc"])
def a_debugger_on_an_own_child(site):
    site.file(
        "a.c", "int twice(int n) { return 2 * n; }\nint main(void) { return twice(21) - 42; }\n"
    )
    text = works(
        site,
        "gcc -g a.c -o a; gdb -batch -nx -ex 'break twice' -ex run -ex 'print n' -ex finish -ex cont ./a 2>&1",
        denials=None,
    )
    check("$1 = 21" in text and "Value returned is $2 = 42" in text, text)
    check("exited normally" in text, text)


@sandbox_test(needs=["gdb", "gcc"])
def a_debugger_that_attaches_to_an_own_process(site):
    text = works(
        site,
        "sleep 60 & gdb -batch -nx -p $! -ex 'info proc' 2>&1 | grep process | head -1; kill $!",
        denials=None,
    )
    check("process" in text, text)


@sandbox_test(needs=["strace"])
def strace_on_an_own_child(site):
    text = works(site, "strace -f -o t sh -c 'echo x > y; cat y'; grep -c 'openat.*y' t; tail -1 t")
    check("exited with 0" in text, text)


# Files


@sandbox_test(needs=["tar", "gzip"])
def tar_keeps_what_it_packs(site):
    text = works(
        site,
        "mkdir -p d/e; echo x > d/e/f; ln -s e/f d/l; ln d/e/f d/h; chmod 751 d/e; touch -d 2001-02-03 d/e/f;"
        "tar czf d.tgz d; mkdir o; tar xzpf d.tgz -C o; stat -c '%a %Y %h' o/d/e/f; stat -c %a o/d/e; "
        "readlink o/d/l; diff -r d o/d && echo same",
    )
    lines = text.splitlines()
    equal(lines[0].split()[2], "2", "links")
    equal(lines[1:], ["751", "e/f", "same"], "output")


@sandbox_test
def copies_moves_and_attributes(site):
    text = works(
        site,
        "mkdir a; echo x > a/f; cp -a a b; cp --reflink=auto a/f c; mv a/f d; mv -n d a/f; "
        "install -m 700 a/f i; stat -c %a i; truncate -s 10M sparse; fallocate -l 1M full || true; "
        "dd if=/dev/zero of=z bs=64k count=16 conv=fsync 2>/dev/null; stat -c %s z sparse; "
        "touch -r z i; chmod -R u+w b; find . -type f | wc -l; df . > /dev/null; du -s . > /dev/null; "
        "rm -rf a b; sync; echo fine",
    )
    equal(text.split(), ["700", "1048576", "10485760", "7", "fine"], "output")


@sandbox_test(needs=["rsync"])
def rsync_copies(site):
    text = works(
        site, "mkdir -p a/b; echo x > a/b/c; rsync -a --delete a/ z/; diff -r a z && echo same"
    )
    equal(text, "same\n", "output")


@sandbox_test
def temporary_files_are_made_where_they_belong(site):
    text = works(
        site,
        "f=$(mktemp); d=$(mktemp -d); echo x > $f; echo x > $d/x; ls -d $f $d | wc -l; "
        "cat <<< here; diff <(echo a) <(echo a) && echo same",
    )
    equal(text, "2\nhere\nsame\n", "output")


@sandbox_test
def a_sort_that_needs_much_temporary_space(site):
    text = works(
        site,
        "seq 400000 | shuf --random-source=/bin/bash > n; sort -n -S 1M n | md5sum; "
        "seq 400000 | md5sum; ls /tmp | grep -c ^sort || true",
    )
    lines = text.split()
    equal(lines[0], lines[2], "digest")


@sandbox_test(needs=["flock"])
def locks_are_seen_by_others(site):
    text = works(
        site,
        "exec 9> lock; flock 9; flock -n lock echo taken || echo held; flock -u 9; flock -n lock echo taken; "
        '%s -c \'import fcntl; f = open("lock", "w"); fcntl.lockf(f, fcntl.LOCK_EX); print("posix")\''
        % PYTHON,
    )
    equal(text, "held\ntaken\nposix\n", "output")


@sandbox_test(needs=["mkfifo"])
def named_pipes(site):
    equal(works(site, "mkfifo p; (echo through > p) & cat p; wait; rm p"), "through\n", "output")


@sandbox_test
def files_are_watched(site):
    text = python_works(
        site,
        """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
watcher = libc.inotify_init1(os.O_CLOEXEC)
os.mkdir("watched")
print(libc.inotify_add_watch(watcher, b"watched", 0x100) >= 0)
open("watched/new", "w").close()
data = os.read(watcher, 4096)
print(struct.unpack("iIII", data[:16])[1] == 0x100, data[16:].rstrip(b"\\0"))
""",
    )
    equal(text, "True\nTrue b'new'\n", "output")


# Shells, text, keys


@sandbox_test
def shells_control_jobs(site):
    text = works(
        site,
        "set -m; sleep 60 & sleep 61 & jobs | wc -l; kill %1 %2; wait; "
        "timeout 0.2 sleep 60 || echo $?; (trap 'echo trapped' TERM; kill -TERM $BASHPID; :); "
        "coproc cat; echo into >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo $line; nohup true; "
        "setsid --wait true; nice true; xargs -P4 -n1 echo < <(seq 8) | wc -l",
        tty=True,
    )
    lines = [line for line in text.split("\n") if line in ("2", "124", "trapped", "into", "8")]
    equal(lines, ["2", "124", "trapped", "into", "8"], text)


@sandbox_test(needs=["ssh-keygen"])
def keys_are_made(site):
    text = works(
        site,
        "ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -l -f key.pub | grep -c ED25519; "
        "stat -c %a key",
        denials=None,
    )
    equal(text, "1\n600\n", "output")


@sandbox_test(needs=["openssl"])
def openssl_makes_certificates_and_digests(site):
    text = works(
        site,
        "openssl rand -hex 8 | wc -c; echo -n x | openssl dgst -sha256 | grep -o 2d711642; "
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=localhost -days 1 2>/dev/null; "
        "openssl verify -CAfile c c",
    )
    equal(text, "17\n2d711642\nc: OK\n", "output")


@sandbox_test(needs=["curl"])
def curl_reaches_an_own_server(site):
    site.file("page", "found\n")
    text = works(
        site,
        "%s -u -m http.server 8765 --bind 127.0.0.1 > log 2>&1 & "
        "for i in $(seq 100); do curl -s localhost:8765/page && break; sleep 0.1; done; "
        "curl -s --proxy '' http://127.0.0.1:8765/page; kill %%1" % PYTHON,
    )
    equal(text, "found\nfound\n", "output")


@sandbox_test(needs=["curl"])
def curl_tells_that_there_is_no_network(site):
    ended = site.run(
        "curl -sS http://192.0.2.7/; echo code $?; curl -sS http://example.invalid/; echo code $?; exit 1"
    )
    check("code 7" in ended.text and "code 6" in ended.text, ended.text)
    check(ended.exited["sandboxDenied"], "sandboxDenied is false")
    targets = [denial["target"] for denial in ended.exited["denials"]]
    check("192.0.2.7:80" in targets, "denials: %s" % targets)


@sandbox_test(needs=["apt-get"])
def apt_tells_its_version(site):
    check(
        "apt" in works(site, "apt-get --version | head -1; dpkg -l bash > /dev/null"), "no version"
    )


@sandbox_test(needs=["locale"])
def locales_are_there(site):
    text = works(
        site,
        "locale | head -1; LC_ALL=C.UTF-8 %s -c 'print(\"ä\")'; date > /dev/null; "
        "TZ=Europe/Berlin date +%%Z" % PYTHON,
    )
    check(text.splitlines()[1] == "ä", text)


@sandbox_test(needs=["perl"])
def perl_forks_and_talks(site):
    text = works(
        site,
        """perl -e 'use IO::Socket::INET; use File::Temp; my $s = IO::Socket::INET->new(Listen => 1,
        LocalAddr => "127.0.0.1"); if (!fork) { my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1",
        PeerPort => $s->sockport); print $c "from perl\\n"; exit } print $s->accept->getline;
        my $t = File::Temp->new; print $t "x"; wait; print "$?\\n"'""",
    )
    equal(text, "from perl\n0\n", "output")


@sandbox_test(needs=["tmux"])
def tmux_with_a_server_of_its_own(site):
    text = works(
        site,
        "tmux -f /dev/null new-session -d -s s 'echo from inside; cat'; "
        "for i in $(seq 100); do tmux capture-pane -pt s | grep -q inside && break; sleep 0.1; done; "
        "tmux capture-pane -pt s | grep inside; ls -d /tmp/tmux-*; tmux kill-server",
        env={"TERM": "xterm", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        tty=True,
        denials=None,  # a helper of tmux may write to syslog
    )
    check("from inside" in text and "/tmp/tmux-" in text, text)
    check(not [n for n in os.listdir("/tmp") if n.startswith("tmux-") and n in text] or True, "")


@sandbox_test(needs=["man"])
def manuals_can_be_read(site):
    ended = site.run("MANPAGER=cat man -P cat bash | head -3")
    if "No manual entry" not in ended.text and ended.code != 16:
        equal(ended.code, 0, ended.text)


@sandbox_test(needs=["ps", "top"])
def tools_that_look_at_processes(site):
    text = works(
        site,
        "ps aux | wc -l; top -bn1 | head -1 | grep -c top; free > /dev/null; uptime > /dev/null; "
        "pgrep -x no-such-thing || echo none; cat /proc/self/status > /dev/null; id -u; nproc > /dev/null",
    )
    check("none" in text, text)


@sandbox_test(needs=["ip"])
def tools_that_look_at_the_network(site):
    text = works(
        site,
        "ip -o link | wc -l; ip -o addr show lo | grep -c 127.0.0.1; cat /proc/net/tcp > /dev/null; hostname > /dev/null",
    )
    equal(text.split(), ["1", "1"], "output")


# A sandbox that may write in /tmp protects the repositories of all tests.
@sandbox_test(alone=True, needs=["setpriv"])
def a_sandbox_in_the_other_form_runs_tools_too(site):
    sandbox = permissions(
        [READS_ALL, WRITES_WORKSPACE, special("slash_tmp", "write"), special("tmpdir", "write")],
        roots=[site.workspace],
    )
    text = works(
        site,
        "f=$(mktemp -p .); echo x > $f; rm $f; %s -c 'import asyncio; asyncio.run(asyncio.sleep(0)); "
        "print(1)'" % PYTHON,
        sandbox=sandbox,
    )
    equal(text, "1\n", "output")


@sandbox_test
def scripts_find_their_own_interpreters(site):
    site.file("s.sh", "#!/usr/bin/env bash\necho $0 $BASH_VERSION | cut -c1-6\n", 0o755)
    site.file("s.py", "#!/usr/bin/python3\nprint('py')\n", 0o755)
    equal(works(site, "./s.sh; ./s.py"), "./s.sh\npy\n", "output")


@sandbox_test
def devices_are_those_that_programs_need(site):
    text = works(
        site,
        "echo x > /dev/null; head -c4 /dev/zero | wc -c; head -c4 /dev/urandom | wc -c; echo x > /dev/full || echo full; "
        "echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/fd/3 3<<< three; ls /dev/shm; echo x > /dev/shm/x; "
        "cat /dev/shm/x; script -qec 'tty' /dev/null < /dev/null | grep -c /dev/pts || true",
    )
    for expected in ("4\n4\n", "full\n", "out\n", "err\n", "three\n", "x\n"):
        check(expected in text, text)


# Owners


OWNERS = """
import errno, os
open("f", "w").close()
open("outside", "w").close()
os.symlink("f", "link")
fd = os.open("f", os.O_RDWR)
user, group = os.getuid(), os.getgid()
other = 12345
def said(call, *arguments):
    try:
        call(*arguments)
        return "works"
    except OSError as error:
        return errno.errorcode[error.errno]
for call, *target in ((os.chown, "f"), (os.lchown, "link"), (os.fchown, fd)):
    for ids in ((user, group), (-1, -1), (user, -1), (-1, group)):
        print(said(call, *target, *ids))
    for ids in ((other, -1), (-1, other), (other, other), (user, other), (65534, 65534)):
        print(said(call, *target, *ids))
print(said(os.setuid, other), said(os.setgid, other), said(os.setresuid, other, -1, -1))
print(said(os.setuid, user), said(os.setgid, group), said(os.setresgid, -1, group, -1))
"""


@sandbox_test
def owners_are_as_for_a_user_without_privileges(site):
    text = python_works(site, OWNERS)
    expected = (["works"] * 4 + ["EPERM"] * 5) * 3 + ["EPERM EPERM EPERM", "works works works"]
    equal(text.splitlines(), expected, "output")


@sandbox_test(needs=["tar", "install"])
def tools_keep_owners_as_a_user_without_privileges(site):
    site.file("a/f", "x\n")
    works(site, "tar cf own.tar a; rm -r a; tar xf own.tar; cp -a a b; install -m 644 a/f c; cmp a/f c")
    works(site, "tar cf other.tar --owner=12345 --group=12345 a; mkdir d")
    extract = "tar xf other.tar -C d" + (" --no-same-owner" if os.geteuid() == 0 else "")
    equal(works(site, extract + "; cat d/a/f"), "x\n", "the file")
    text = works(site, "! install -o 12345 a/f e 2>&1; ! chgrp 12345 a/f 2>&1; ! chown 12345 a/f 2>&1")
    equal(text.count("Operation not permitted"), 3, text)


@sandbox_test(needs=["rsync"])
def rsync_keeps_what_it_can(site):
    site.file("a/f", "x\n")
    works(site, "rsync -a a/ b/ && cmp a/f b/f")


@sandbox_test(needs=["fakeroot"])
def fakeroot_pretends(site):
    text = works(site, "fakeroot sh -c 'touch f; chown 33:33 f; stat -c %u:%g f; id -u'")
    equal(text, "33:33\n0\n", "output")


if __name__ == "__main__":
    main()

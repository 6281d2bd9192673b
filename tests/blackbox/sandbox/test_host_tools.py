"""The network by host with the tools of everyday: each reaches a host that is allowed, and no other one.

The servers are the test's own, in the network of support/host_worlds.py: files over http and https, a registry
of npm, a repository of git, sshd, and what psql and redis-cli need of a server.
"""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal
from support.host_questions import NO, ONCE, asked
from support.host_worlds import hosts_test
from support.runner import main
from support.sandboxes import PATH

HOST = "tools.example"  # nobody but the servers below listens there
ADDRESS = "203.0.113.7"
WORDS = "what the server says"

# In the rig. `files` is a directory with www/, the certificate, and what sshd needs.
SERVE = r"""
import functools, http.server, ssl
place = "203.0.113.7"

class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        visits.append("%s:%d" % (place, self.server.server_port))

def serve_files(port, is_tls):
    handler = functools.partial(Files, directory=files + "/www")
    server = http.server.ThreadingHTTPServer((place, port), handler)
    if is_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files + "/cert.pem", files + "/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()

def serve_talk(port, talk):
    server = socket.create_server((place, port))
    def accept():
        while True:
            client, _ = server.accept()
            visits.append("%s:%d" % (place, port))
            threading.Thread(target=talk, args=(client,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()

# The simplest dialogue of PostgreSQL's protocol, version 3: any query has one row.
def postgres(client):
    def say(kind, body):
        client.sendall(kind + (len(body) + 4).to_bytes(4, "big") + body)
    while True:
        size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
        if client.recv(size - 4, socket.MSG_WAITALL)[:2] != b"\x04\xd2":
            break
        client.sendall(b"N")  # no TLS
    say(b"R", bytes(4))
    say(b"Z", b"I")
    while client.recv(1) == b"Q":
        client.recv(int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big") - 4, socket.MSG_WAITALL)
        say(b"T", b"\0\1a\0" + bytes(6) + b"\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0")
        say(b"D", b"\0\1" + len(words).to_bytes(4, "big") + words)
        say(b"C", b"SELECT 1\0")
        say(b"Z", b"I")

def redis(client):
    while client.recv(4096):
        client.sendall(b"$%d\r\n%s\r\n" % (len(words), words))

def line(client):
    client.sendall(words + b"\n")
    client.close()

# It ends with the rig, and every session of it too. Its directory in /run is seen by nobody else.
def serve_ssh(sshd):
    words = "mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec %s -D -e -f %s/sshd_config" % (sshd, files)
    server = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", words],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    def note():
        for line in server.stderr:
            if line.startswith("Accepted "):
                visits.append("%s:22" % place)
            if "listening" in line:
                listens.set()
    listens = threading.Event()
    threading.Thread(target=note, daemon=True).start()
    assert listens.wait(60), "sshd does not listen"

if sshd:
    serve_ssh(sshd)
serve_files(80, False)
serve_files(443, True)
serve_talk(5432, postgres)
serve_talk(6379, redis)
serve_talk(7, line)
"""

JAVA = r"""
import java.net.*;
import java.net.http.*;
public class Main {
    public static void main(String[] words) throws Exception {
        URI place = URI.create(words[0]);
        try (var old = place.toURL().openStream()) {
            System.out.print(new String(old.readAllBytes()));
        }
        var request = HttpRequest.newBuilder(place).build();
        System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
"""

GO = r"""
package main
import ("io"; "net/http"; "os")
func main() {
    answer, err := http.Get(os.Args[1])
    if err != nil { println(err.Error()); os.Exit(1) }
    io.Copy(os.Stdout, answer.Body)
}
"""

ASYNCIO = """
import asyncio, ssl, sys
async def all():
    context = ssl.create_default_context(cafile="cert.pem")
    reader, writer = await asyncio.open_connection(sys.argv[1], 443, ssl=context)
    writer.write(b"GET /words HTTP/1.0\\r\\n\\r\\n")
    print((await reader.read()).decode())
asyncio.run(all())
"""

URLLIB = 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())'
REQUESTS = 'import requests, sys; print(requests.get(sys.argv[1], verify="cert.pem").text)'
NODE_HTTP = 'require("http").get(process.argv[1], a => a.pipe(process.stdout))'
FETCH = 'fetch(process.argv[1]).then(a => a.text()).then(console.log)'
SSH = "ssh -F none -i key -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=known_hosts"
SAY_QUIT = "printf 'GET /words HTTP/1.0\\r\\n\\r\\n' | "

# What it is, what the machine must have, the command, in which HOST is the name of the host or its address, and
# the port.
TOOLS = (
    ("curl", ["curl"], "curl -sS http://HOST/words", 80),
    ("curl_with_tls", ["curl"], "curl -sS --cacert cert.pem https://HOST/words", 443),
    ("wget", ["wget"], "wget -q -t 1 -O - http://HOST/words", 80),
    ("git_over_https", [], "copy=$(mktemp -d) && git -c http.sslCAInfo=cert.pem clone -q https://HOST/repo.git $copy && "
                           "cat $copy/words", 443),
    ("git_over_ssh", ["ssh", "ssh-keygen", "sshd", "setpriv"],
     "copy=$(mktemp -d) && GIT_SSH_COMMAND='%s' git clone -q ssh://root@HOSTFILES/www/repo.git $copy && "
     "cat $copy/words" % SSH, 22),
    ("npm", ["npm"], "cd $(mktemp -d) && npm install --no-audit --no-fund --fetch-retries=0 --prefer-online "
                     "--replace-registry-host=always --registry=http://HOST/ tiny && cat node_modules/tiny/words", 80),
    ("python_urllib", [], PYTHON + " -c '%s' http://HOST/words" % URLLIB, 80),
    ("python_requests", ["python:requests"], PYTHON + " -c '%s' https://HOST/words" % REQUESTS, 443),
    ("python_asyncio", [], PYTHON + " -c '%s' HOST" % ASYNCIO, 443),
    ("node_http", ["node"], "node -e '%s' http://HOST/words" % NODE_HTTP, 80),
    ("node_fetch", ["node"], "NODE_EXTRA_CA_CERTS=cert.pem node -e '%s' https://HOST/words" % FETCH, 443),
    ("go_with_cgo", ["go", "gcc"], "./with_cgo http://HOST/words", 80),
    ("go_without_cgo", ["go"], "./without_cgo http://HOST/words", 80),
    ("java", ["java", "javac"], "java Main.java http://HOST/words", 80),
    ("psql", ["psql"], "psql -At -c 'select words' 'host=HOST user=ada dbname=shop'", 5432),
    ("redis_cli", ["redis-cli"], "redis-cli -h HOST get words", 6379),
    ("openssl_s_client", [], SAY_QUIT + "openssl s_client -quiet -connect HOST:443 -CAfile cert.pem; true", 443),
    ("nc", ["nc"], "nc HOST 7 < /dev/null", 7),
)


def missing(need):
    if need.startswith("python:"):
        words = [PYTHON, "-c", "import " + need.removeprefix("python:")]
        return subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0
    return not shutil.which(need, path=PATH + ":/usr/sbin:/sbin")


def make_registry(www):
    """Writes what npm asks for: the description of the package `tiny`, and the package."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (("package.json", '{"name":"tiny","version":"1.0.0"}'), ("words", WORDS)):
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    package = packed.getvalue()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()
    dist = {"tarball": "http://tools.example/tiny-1.0.0.tgz", "integrity": integrity}
    version = {"name": "tiny", "version": "1.0.0", "dist": dist}
    with open(www + "/tiny-1.0.0.tgz", "wb") as file:
        file.write(package)
    with open(www + "/tiny", "w") as file:
        json.dump({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}, file)


def make_repository(www, scratch):
    """Makes a repository that a server of plain files can serve."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    with open(scratch + "/words", "w") as file:
        file.write(WORDS)
    for words in (["init", "-q", scratch], ["-C", scratch, "add", "words"],
                  ["-C", scratch, *author, "commit", "-q", "-m", "Say something"],
                  ["clone", "-q", "--bare", scratch, www + "/repo.git"],
                  ["-C", www + "/repo.git", "update-server-info"]):
        subprocess.run(["git", *words], check=True, env=environment)


def make_ssh(world, files):
    """Makes the keys of sshd and of the client, and the file that sshd is run with."""
    for path in (files + "/host_key", world.directory + "/key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    shutil.move(world.directory + "/key.pub", files + "/authorized_keys")
    with open(files + "/host_key.pub") as public, open(world.directory + "/known_hosts", "w") as known:
        known.write("%s,%s %s" % (HOST, ADDRESS, public.read()))
    with open(files + "/sshd_config", "w") as file:
        file.write(
            "ListenAddress %s:22\nHostKey %s/host_key\nAuthorizedKeysFile %s/authorized_keys\nPidFile none\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\nStrictModes no\nUsePAM no\n"
            % (ADDRESS, files, files)
        )


def make_go(world, with_cgo):
    """Builds the program, since only the program is to be confined."""
    with open(world.scene.path("main.go"), "w") as file:
        file.write(GO)
    name = "with_cgo" if with_cgo else "without_cgo"
    subprocess.run(
        ["go", "build", "-o", os.path.join(world.directory, name), world.scene.path("main.go")], check=True,
        env={**os.environ, "CGO_ENABLED": str(int(with_cgo)), "GOCACHE": world.scene.path("go"), "GOTOOLCHAIN": "local",
             "GOPATH": world.scene.path("gopath"), "GO111MODULE": "off"},
    )


def furnish(world, needs, command):
    """Files for the servers, and for the commands."""
    files = world.scene.path("files")
    for name in ("www", "repository"):
        os.makedirs(os.path.join(files, name))
    with open(files + "/www/words", "w") as file:
        file.write(WORDS + "\n")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + HOST,
         "-addext", "subjectAltName=DNS:%s,IP:%s" % (HOST, ADDRESS), "-keyout", files + "/key.pem",
         "-out", files + "/cert.pem"],
        check=True, stderr=subprocess.DEVNULL,
    )
    make_registry(files + "/www")
    make_repository(files + "/www", files + "/repository")
    shutil.copy(files + "/cert.pem", world.directory)
    with open(os.path.join(world.directory, "Main.java"), "w") as file:
        file.write(JAVA)
    if "sshd" in needs:
        make_ssh(world, files)
    if "go" in needs:
        make_go(world, "with_cgo" in command)
    sshd = shutil.which("sshd", path="/usr/sbin:/sbin") if "sshd" in needs else None
    world.serve = "files, words, sshd = %r, %r, %r\n" % (files, WORDS.encode(), sshd) + SERVE
    world.environment = {"NODE_OPTIONS": "", "GIT_CONFIG_SYSTEM": "/dev/null"}


def is_refused(done):
    equal(done.visits, [], "who was called: " + done.text + done.errors)
    check(WORDS not in done.text, done.text)
    check(": connect " in done.errors, done.errors)


def has_worked(done):
    check(WORDS in done.text, done.text + done.errors)
    equal(done.status, 0, done.errors)
    check(done.visits, "a server was called")


def tool_test(name, needs, command, port):
    lacking = [need for need in ("openssl", "git", *needs) if missing(need)]
    if lacking:
        print("SKIP %s: it needs %s" % (name, ", ".join(lacking)))
        return

    def words_for(world, host):
        text = command.replace("HOST", host, 1).replace("FILES", world.scene.path("files"))
        return ["bash", "-c", text]

    def reaches_what_is_allowed(world):
        furnish(world, needs, command)
        by_name, by_address = words_for(world, HOST), words_for(world, ADDRESS)
        is_refused(world.run(by_name, "other.example", "%s:%d" % (HOST, port + 1)))
        has_worked(world.run(by_name, "%s:%d" % (HOST, port)))
        is_refused(world.run(by_address, HOST))  # only the name is allowed
        has_worked(world.run(by_address, "%s:%d" % (ADDRESS, port)))
        world.rules('[[network]]\nhost = "%s"\nports = [%d]\ndecision = "forbidden"\n' % (HOST, port))
        forbidden = world.run(by_name, HOST)
        is_refused(forbidden)
        check("a rule forbids it" in forbidden.errors, forbidden.errors)

    def waits_for_an_answer(world):
        furnish(world, needs, command)
        step = {"argv": words_for(world, HOST), "workdir": world.directory, "yieldTimeMs": 30000}
        for answer in (ONCE, NO):
            facts = asked(world, {HOST: answer}, step)
            equal(facts.hosts(), ["%s:%d" % (HOST, port)], facts.all)
            equal((WORDS in "\n".join(facts.lines()), bool(facts.visits)), (answer == ONCE,) * 2, facts.all)

    reaches_what_is_allowed.__name__ = name + "_reaches_what_is_allowed_and_nothing_else"
    waits_for_an_answer.__name__ = name + "_waits_for_an_answer_and_goes_on_or_is_refused"
    hosts_test(reaches_what_is_allowed)
    hosts_test(waits_for_an_answer)


for tool in TOOLS:
    tool_test(*tool)

if __name__ == "__main__":
    main()

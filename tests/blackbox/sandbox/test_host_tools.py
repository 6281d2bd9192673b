"""The network by host with the tools of everyday: each reaches a host that is allowed, and no other one.

The servers are the test's own, in the network of support/host_worlds.py: files over http and https, a registry
of npm, a repository of git, and what psql and redis-cli need of a server.
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
from support.host_worlds import hosts_test
from support.runner import main
from support.sandboxes import PATH

HOST = "tools.example"  # nobody but the servers below listens there
WORDS = "what the server says"

# In the rig. `files` is a directory with www/ and the certificate.
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
        URI place = URI.create("http://tools.example/words");
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
    answer, err := http.Get("http://tools.example/words")
    if err != nil { println(err.Error()); os.Exit(1) }
    io.Copy(os.Stdout, answer.Body)
}
"""

ASYNCIO = """
import asyncio, ssl, sys
async def all():
    context = ssl.create_default_context(cafile="cert.pem")
    reader, writer = await asyncio.open_connection("tools.example", 443, ssl=context)
    writer.write(b"GET /words HTTP/1.0\\r\\n\\r\\n")
    print((await reader.read()).decode())
asyncio.run(all())
"""

URLLIB = 'import urllib.request as r; print(r.urlopen("http://tools.example/words").read().decode())'
REQUESTS = 'import requests; print(requests.get("https://tools.example/words", verify="cert.pem").text)'
NODE_HTTP = 'require("http").get("http://tools.example/words", a => a.pipe(process.stdout))'
FETCH = 'fetch("https://tools.example/words").then(a => a.text()).then(console.log)'
SAY_QUIT = "printf 'GET /words HTTP/1.0\\r\\n\\r\\n' | "

# What it is, what the machine must have, the command, and the host that is allowed.
TOOLS = (
    ("curl", ["curl"], "curl -sS http://tools.example/words", HOST),
    ("curl_with_tls", ["curl"], "curl -sS --cacert cert.pem https://tools.example/words", HOST + ":443"),
    ("wget", ["wget"], "wget -q -t 1 -O - http://tools.example/words", HOST),
    ("git_over_https", ["git"], "git -c http.sslCAInfo=cert.pem clone -q https://tools.example/repo.git copy && "
                                "cat copy/words", HOST),
    ("npm", ["npm"], "npm install --no-audit --no-fund --fetch-retries=0 --registry=http://tools.example/ tiny && "
                     "cat node_modules/tiny/words", HOST),
    ("python_urllib", [], PYTHON + " -c '%s'" % URLLIB, HOST),
    ("python_requests", ["python:requests"], PYTHON + " -c '%s'" % REQUESTS, HOST),
    ("python_asyncio", [], PYTHON + " -c '%s'" % ASYNCIO, HOST),
    ("node_http", ["node"], "node -e '%s'" % NODE_HTTP, HOST),
    ("node_fetch", ["node"], "NODE_EXTRA_CA_CERTS=cert.pem node -e '%s'" % FETCH, HOST),
    ("go", ["go"], "go run main.go", HOST),
    ("java", ["java", "javac"], "java Main.java", HOST),
    ("psql", ["psql"], "psql -At -c 'select words' 'host=tools.example user=ada dbname=shop'", HOST + ":5432"),
    ("redis_cli", ["redis-cli"], "redis-cli -h tools.example get words", HOST + ":6379"),
    ("openssl_s_client", ["openssl"], SAY_QUIT + "openssl s_client -quiet -connect tools.example:443 "
                                      "-servername tools.example -CAfile cert.pem || true", HOST),
    ("nc", ["nc"], "nc tools.example 7 < /dev/null", HOST + ":7"),
)


def missing(need):
    if need.startswith("python:"):
        words = [PYTHON, "-c", "import " + need.removeprefix("python:")]
        return subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0
    return not shutil.which(need, path=PATH)


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


def furnish(world):
    """Files for the servers, and for the commands."""
    files = world.scene.path("files")
    for name in ("www", "repository"):
        os.makedirs(os.path.join(files, name))
    with open(files + "/www/words", "w") as file:
        file.write(WORDS + "\n")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + HOST,
         "-addext", "subjectAltName=DNS:" + HOST, "-keyout", files + "/key.pem", "-out", files + "/cert.pem"],
        check=True, stderr=subprocess.DEVNULL,
    )
    make_registry(files + "/www")
    make_repository(files + "/www", files + "/repository")
    shutil.copy(files + "/cert.pem", world.directory)
    for name, text in (("Main.java", JAVA), ("main.go", GO)):
        with open(os.path.join(world.directory, name), "w") as file:
            file.write(text)
    world.serve = "files, words = %r, %r\n" % (files, WORDS.encode()) + SERVE
    world.environment = {"NODE_OPTIONS": "", "GIT_CONFIG_SYSTEM": "/dev/null"}


def tool_test(name, needs, command, host):
    lacking = [need for need in ("openssl", "git", *needs) if missing(need)]
    if lacking:
        print("SKIP %s: it needs %s" % (name, ", ".join(lacking)))
        return

    def reaches_what_is_allowed(world):
        furnish(world)
        refused = world.run(["bash", "-c", command], "other.example")
        equal(refused.visits, [], "who was called without a rule: " + refused.text + refused.errors)
        check(WORDS not in refused.text, refused.text)
        check(": connect %s:" % HOST in refused.errors, refused.errors)

        done = world.run(["bash", "-c", command], host)
        check(WORDS in done.text, done.text + done.errors)
        equal(done.status, 0, done.errors)
        check(done.visits, "a server was called")

    reaches_what_is_allowed.__name__ = name + "_reaches_what_is_allowed_and_nothing_else"
    hosts_test(reaches_what_is_allowed)


for tool in TOOLS:
    tool_test(*tool)

if __name__ == "__main__":
    main()

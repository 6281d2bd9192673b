"""The network by host behind a proxy of the machine: what the proxy is asked for, and what becomes of its answers.

Each test has a network of its own with a small proxy in it: see support/host_worlds.py.
"""

import base64
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal
from support.host_worlds import FAR, TOOLS, hosts_test
from support.runner import main
from support.sandboxes import PATH

SECRET = base64.b64encode(b"me:pass word").decode()
URL = "http://me:pass%20word@proxy.example:3128"

# It is at an address that no program may reach, and answers by the name that it is asked for.
PROXY = r"""
def answered(connection, place, text):
    if not text.startswith("CONNECT %s HTTP/1.1\r\nHost: %s\r\n" % (place, place)):
        return b"HTTP/1.1 400 what?\r\n\r\n"
    if "Proxy-Authorization: Basic SECRET\r\n" not in text:
        return b"HTTP/1.1 407 who?\r\nProxy-Authenticate: Basic\r\n\r\n"
    host = place.split(":")[0]
    if host == "never.example":
        connection.recv(1)
    return {"refused.example": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
            "garbage.example": b"SSH-2.0-what\r\n\r\n", "closed.example": b"", "never.example": b"",
            "long.example": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 40000}.get(host)

def between(connection):
    text = b""
    while b"\r\n\r\n" not in text:
        block = connection.recv(4096)
        if not block:
            return
        text += block
    place = text.decode().split(" ")[1]
    visits.append("proxy " + place)
    with connection:
        answer = answered(connection, place, text.decode())
        if answer is not None:
            connection.sendall(answer)
            return
        host, port = place.rsplit(":", 1)
        with socket.create_connection((host if host[0].isdigit() else "203.0.113.5", int(port))) as far:
            head = b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n"
            if host == "early.example":
                head += far.recv(100)
            for byte in head if host == "slow.example" else ():
                connection.sendall(bytes([byte]))
            if host != "slow.example":
                connection.sendall(head)
            def down():
                while block := far.recv(1 << 16):
                    connection.sendall(block)
                connection.shutdown(socket.SHUT_WR)
            back = threading.Thread(target=down)
            back.start()
            while block := connection.recv(1 << 16):
                far.sendall(block)
            far.shutdown(socket.SHUT_WR)
            back.join()

def proxy():
    server = socket.socket()
    server.bind(("10.77.0.1", 3128))
    server.listen(64)
    while True:
        threading.Thread(target=between, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=proxy, daemon=True).start()
""".replace("SECRET", SECRET)


def proxied(world, **variables):
    """Puts the proxy into the world. The server has these variables."""
    world.serve = PROXY
    world.environment = variables
    with open(world.scene.path("hosts"), "a") as file:
        file.write("10.77.0.1 proxy.example alias.example\n203.0.113.6 direct.example\n")


def settings(world, text):
    place = os.path.join(world.scene.path("home"), ".config", "execward")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "config.toml"), "w") as file:
        file.write(text)


def keeps_the_secret(world, *texts):
    for text in texts:
        check("pass" not in text and SECRET not in text, text)
    with open(world.scene.path("approvals.db"), "rb") as file:
        stored = file.read()
    check(b"pass word" not in stored and b"pass%20word" not in stored and SECRET.encode() not in stored, "the audit")


@hosts_test
def allowed_names_go_through_the_proxy_which_looks_them_up(world):
    proxied(world, HTTPS_PROXY=URL, no_proxy=".direct.example,other.example")
    names = ["far.example", "early.example", "slow.example", "direct.example", "forbidden.example"]
    done = world.python("for name in %r:\n    show(said(name))" % names, *names[:4])
    hello = "hello from " + FAR
    equal(done.lines(), [hello, hello, hello, "hello from 203.0.113.6", "ECONNREFUSED"], done.errors)
    asked = [visit for visit in done.visits if visit.startswith("proxy ")]
    equal(asked, ["proxy %s:443" % name for name in names[:3]], "who was asked for")
    equal(done.queries, [], "queries that left")
    keeps_the_secret(world, done.text, done.errors)


@hosts_test
def what_a_proxy_does_not_open_is_a_reset_and_a_denial_with_its_status(world):
    proxied(world, https_proxy=URL)
    reasons = {
        "refused.example": "answered with the status 403",
        "garbage.example": "not one of HTTP",
        "long.example": "too long",
        "closed.example": "without an answer",
    }
    done = world.python("for name in %r:\n    show(said(name))" % list(reasons), *reasons)
    equal(done.lines(), ["ECONNRESET"] * len(reasons), done.errors)
    for name, reason in reasons.items():
        lines = [line for line in done.errors.splitlines() if name in line]
        check(len(lines) == 1 and reason in lines[0], done.errors)
        check("the proxy proxy.example:3128 (https_proxy)" in lines[0], lines)
    equal([visit for visit in done.visits if FAR in visit], [], "who was called")
    keeps_the_secret(world, done.errors)


@hosts_test
def wrong_credentials_are_told_by_their_status(world):
    proxied(world, all_proxy="http://me:password@proxy.example:3128")
    done = world.python('show(said("far.example"))', "far.example")
    equal(done.lines(), ["ECONNRESET"], done.errors)
    check("answered with the status 407" in done.errors, done.errors)
    keeps_the_secret(world, done.errors)


@hosts_test
def a_proxy_that_never_answers_stops_nothing_else(world):
    proxied(world, https_proxy=URL)
    script = """
late = []
waiting = threading.Thread(target=lambda: late.append(said("never.example", timeout=110)))
waiting.start()
show(said("far.example"), late)
waiting.join()
show(late)
"""
    done = world.python(script, "never.example", "far.example")
    equal(done.lines(), ["hello from %s []" % FAR, "['ECONNRESET']"], done.errors)
    check("did not answer in time" in done.errors, done.errors)


@hosts_test
def a_proxy_that_is_not_there_is_told(world):
    proxied(world, https_proxy="http://203.0.113.5:3129", http_proxy="http://nowhere.example:3128")
    done = world.python('show(said("far.example")); show(said("far.example", 80))', "far.example")
    equal(done.lines(), ["ECONNRESET"] * 2, done.errors)
    check("the proxy 203.0.113.5:3129 (https_proxy) cannot be reached" in done.errors, done.errors)
    check("the proxy nowhere.example:3128 (http_proxy) has no address" in done.errors, done.errors)
    equal(done.visits, [], "who was called")


@hosts_test
def each_port_has_the_proxy_of_its_variable_and_no_other(world):
    proxied(world, HTTP_PROXY=URL)
    script = 'show(said("good.example", 80)); show(said("good.example")); show(said("good.example", 22))'
    done = world.python(script, "good.example:80", "good.example:443", "good.example:22")
    equal(done.lines(), ["hello from " + FAR] * 3, done.errors)
    equal([visit for visit in done.visits if "proxy" in visit], ["proxy good.example:80"], "who was asked for")


@hosts_test
def addresses_are_judged_before_the_proxy_is_asked_for_them(world):
    proxied(world, https_proxy=URL)
    script = 'for place in ("%s", "10.77.0.1", "203.0.113.6", "203.0.113.9"):\n    show(said(place))' % FAR
    done = world.python(script, FAR, "203.0.113.0/24")
    equal(done.lines(), ["hello from " + FAR, "ECONNREFUSED", "hello from 203.0.113.6", "ECONNRESET"], done.errors)
    asked = [visit for visit in done.visits if visit.startswith("proxy ")]
    equal(asked, ["proxy %s:443" % FAR, "proxy 203.0.113.6:443"], "who was asked for")


@hosts_test
def no_program_reaches_the_proxy_itself(world):
    proxied(world, https_proxy=URL, no_proxy="alias.example,10.0.0.0/8")
    places = ["proxy.example", "10.77.0.1", "alias.example"]
    done = world.python(
        "for place in %r:\n    show(said(place, 3128))" % places,
        *(place + ":3128" for place in places),
    )
    equal(done.lines(), ["ECONNREFUSED", "ECONNRESET", "ECONNRESET"], done.errors)
    equal(done.errors.count("it is a proxy of the machine"), 3, done.errors)
    equal(done.visits, [], "who was called")


@hosts_test
def a_proxy_of_another_kind_is_told_and_nothing_goes_beside_it(world):
    proxied(world, ALL_PROXY="socks5h://me:pass%20word@proxy.example:1080")
    done = world.python('show(said("good.example")); show(said("good.example", 80))', "good.example")
    equal(done.lines(), ["ECONNREFUSED"] * 2, done.errors)
    equal(done.visits, [], "who was called")
    warning = "warning: the proxy of ALL_PROXY cannot be used"
    equal(done.errors.count(warning), 1, done.errors)
    check("proxies of the scheme socks5h are not supported" in done.errors, done.errors)
    keeps_the_secret(world, done.errors)


@hosts_test
def a_server_warns_of_a_proxy_that_it_cannot_use_at_the_first_network_by_host(world):
    proxied(world, ALL_PROXY="socks5h://me:pass%20word@proxy.example:1080")
    script = TOOLS + 'show(said("good.example"))'
    for by_host, warnings in ((False, 0), (True, 1)):
        done = world.client(
            settings={"confinement": {"networkByHost": by_host}, "approvalPolicy": "never"},
            command={"argv": [PYTHON, "-c", script], "workdir": world.directory, "yieldTimeMs": 30000},
        )
        equal(done.errors.count("the proxy of ALL_PROXY cannot be used"), warnings, done.errors)
    check("ECONNREFUSED" in done.text and "socks5h are not supported" in done.text, done.text)
    equal(done.visits, [], "who was called")
    keeps_the_secret(world, done.text, done.errors)


@hosts_test
def the_setting_names_another_proxy_or_none(world):
    proxied(world, ALL_PROXY="socks5h://proxy.example:1080")
    script = 'show(said("good.example")); show(said("good.example", 80))'
    for value, asked in ((URL, 2), ("off", 0)):
        settings(world, '[confinement]\nnetwork_proxy = "%s"\n' % value)
        done = world.python(script, "good.example")
        equal(done.lines(), ["hello from " + FAR] * 2, done.errors)
        equal(len([visit for visit in done.visits if "proxy" in visit]), asked, value)
    settings(world, '[confinement]\nnetwork_proxy = "socks5h://me:pass%20word@proxy.example"\n')
    done = world.python(script, "good.example")
    check(done.status == 125 and "network_proxy" in done.errors and "socks5h" in done.errors, done.errors)
    check("pass" not in done.errors, done.errors)


@hosts_test
def variables_about_proxies_do_not_reach_the_command(world):
    proxied(world, HTTPS_PROXY=URL, http_proxy=URL, NO_PROXY="x", npm_config_https_proxy=URL, GOPROXY="off")
    script = 'show(sorted(name for name in os.environ if "PROXY" in name.upper()))'
    done = world.python(script, "good.example")
    equal(done.lines(), ["['GOPROXY']"], done.errors)
    check("the command does not get HTTPS_PROXY" in done.errors, done.errors)
    keeps_the_secret(world, done.errors)
    open_network = world.plain([world.scene.command[0], "run", "--network", "--", "env"])
    check("HTTPS_PROXY=" in open_network.text, "with the network of the machine they stay")


@hosts_test
def a_server_uses_the_proxy_for_its_commands_and_processes(world):
    proxied(world, HTTPS_PROXY=URL)
    world.rules('[[network]]\nhost = "far.example"\ndecision = "allow"\n')
    script = TOOLS + 'show(said("far.example"), os.environ.get("HTTPS_PROXY"))'
    done = world.client(
        events=True,
        settings={"confinement": {"networkByHost": True}, "approvalPolicy": "never"},
        command={"argv": [PYTHON, "-c", script], "workdir": world.directory, "yieldTimeMs": 30000},
    )
    check("hello from %s None" % FAR in done.text, done.text + done.errors)
    check("HTTPS_PROXY" in done.lines()[0].split()[1:], done.text)
    start = {
        "processId": "p",
        "argv": [PYTHON, "-c", script],
        "cwd": "file://" + world.directory,
        "env": {"PATH": PATH, "HTTPS_PROXY": URL},
        "tty": False,
        "sandbox": {
            "mode": "require",
            "policy": {"type": "workspace-write", "network": "hosts"},
            "allowHosts": ["far.example"],
        },
    }
    done = world.client(start=start)
    equal(done.lines()[0], "hello from %s None" % FAR, done.text + done.errors)
    keeps_the_secret(world, done.text, done.errors)


if __name__ == "__main__":
    main()

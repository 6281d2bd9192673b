"""The network by host: which hosts a confined program reaches, what it is told, and the names that lie.

Each test has a network of its own: see support/host_worlds.py.
"""

import hashlib
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal
from support.host_worlds import FAR, TOOLS, hosts_test
from support.runner import main
from support.sandboxes import PATH


@hosts_test
def an_allowed_name_is_reached_and_every_other_one_is_refused_and_told(world):
    done = world.python(
        'show(said("good.example")); show(said("other.example")); show(said("good.example", 22))',
        "good.example",
    )
    equal(done.lines(), ["hello from " + FAR, "ECONNREFUSED", "ECONNREFUSED"], done.errors)
    equal(done.visits, [FAR + ":443"], "who was called")
    check("other.example:443" in done.errors, done.errors)
    check("--allow-host other.example:443" in done.errors, done.errors)
    check("--allow-host good.example:22" in done.errors, done.errors)


@hosts_test
def every_form_of_a_name_is_that_name(world):
    done = world.python(
        'for name in ("GOOD.Example", "good.example.", "sub.good.example", "bücher.example"):\n'
        "    show(said(name))",
        "good.example",
        "*.good.example:443",
        "xn--bcher-kva.example",
    )
    equal(done.lines(), ["hello from " + FAR] * 4, done.errors)


@hosts_test
def a_name_that_leads_to_the_machine_or_a_private_network_is_not_followed(world):
    names = ["loop.example", "loop6.example", "mapped.example", "private.example", "meta.example", "own.example"]
    done = world.python("for name in %r:\n    show(said(name))" % names, *names)
    equal(done.visits, [], "who was called: " + done.text)
    equal(done.lines(), ["ECONNRESET"] * len(names), done.errors)
    for name in names:
        check(name + ":443" in done.errors, name + " is told: " + done.errors)


@hosts_test
def a_private_address_that_a_rule_names_is_reached(world):
    script = 'show(said("private.example")); show(said("10.77.0.1")); show(said("10.77.0.1", 22))'
    done = world.python(script, "private.example", "10.77.0.1:443")
    equal(done.lines(), ["hello from 10.77.0.1"] * 2 + ["ECONNREFUSED"], done.errors)


@hosts_test
def only_the_addresses_that_may_be_reached_count_where_a_name_has_several(world):
    done = world.python('show(said("mixed.example"))', "mixed.example")
    equal(done.lines(), ["hello from " + FAR], done.errors)
    check("10.77.0.1:443" not in done.visits, done.visits)


@hosts_test
def an_address_is_asked_about_as_an_address(world):
    script = 'show(said("203.0.113.5")); show(said("2001:db8::5", family=socket.AF_INET6))\n'
    script += 'show(said("::ffff:203.0.113.5", family=socket.AF_INET6)); show(said("good.example"))'
    refused = world.python(script, "good.example")
    equal(refused.lines(), ["ECONNREFUSED"] * 3 + ["hello from " + FAR], refused.errors)
    check("--allow-host [2001:db8::5]:443" in refused.errors, refused.errors)
    done = world.python(script, FAR + ":443", "[2001:db8::5]:443")
    equal(
        done.lines(),
        ["hello from " + FAR, "hello from 2001:db8::5", "hello from " + FAR, "ECONNREFUSED"],
        done.errors,
    )


@hosts_test
def numbers_that_stand_for_an_address_are_no_names(world):
    done = world.python(
        'for name in ("2130706433", "0177.0.0.1", "0x7f.1", "127.1"):\n    show(said(name))',
        "good.example",
    )
    equal(done.visits, [], "who was called: %s" % done.text)
    check("hello" not in done.text, done.text)


@hosts_test
def an_address_that_stands_for_no_name_leads_nowhere(world):
    script = 'show(said("198.18.77.77")); a = socket.gethostbyname("good.example"); show(said(a)); show(a)\n'
    script += 'show(socket.gethostbyaddr(a)[0], socket.gethostbyname("good.example") == a)'
    done = world.python(script, "good.example")
    first, second, address, names = done.lines()
    equal((first, second), ("ECONNREFUSED", "hello from " + FAR), done.errors)
    check(address.startswith(("198.18.", "198.19.")), address)
    equal(names, "good.example True", "the name of the address")


@hosts_test
def no_query_leaves_the_machine_for_a_name_that_is_not_allowed(world):
    script = 'for i in range(50):\n    show(said("%s.tunnel.other.net" % ("x" * 40 + str(i))))'
    done = world.python(script, "good.example")
    equal(set(done.lines()), {"ECONNREFUSED"}, done.errors)
    equal(done.queries, [], "queries that left")


@hosts_test
def a_name_that_only_looks_or_leads_like_an_allowed_one_is_another(world):
    names = ("g\u043e\u043ed.example", "sub.good.example", "good.example.other.net", "xgood.example")
    done = world.python(
        "for name in %r:\n    show(said(name))\nshow(said('good.example'))" % (names,), "good.example"
    )
    equal(done.lines()[-1], "hello from " + FAR, done.errors)
    equal([line for line in done.lines() if "hello" in line], done.lines()[-1:], "who was reached")
    equal((done.visits, done.queries), ([FAR + ":443"], []), "who was called, and who was asked")


# A name server at 203.0.113.54. Its names lead through others, and for no time.
NAME_SERVER = r"""
def name_server():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("203.0.113.54", 53))
    leads = {"fine.test": "far.other.net", "far.other.net": "203.0.113.5", "round.test": "inner.test",
             "inner.test": "10.77.0.1", "loop.test": "loop.test", "zero.test": "203.0.113.5"}
    while True:
        query, caller = server.recvfrom(4096)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]])
            at += query[at] + 1
        question, kind = query[12:at + 5], query[at + 1:at + 3]
        name = b".".join(labels).decode().lower()
        queries.append(name)
        records = []
        while name in leads and len(records) < 8:
            there, owner = leads[name], b"".join(bytes([len(l)]) + l for l in name.encode().split(b".")) + b"\0"
            if there[0].isdigit():
                if kind == b"\0\1":
                    records.append(owner + b"\0\1\0\1" + bytes(4) + b"\0\4" + socket.inet_aton(there))
                break
            alias = b"".join(bytes([len(l)]) + l for l in there.encode().split(b".")) + b"\0"
            records.append(owner + b"\0\5\0\1" + bytes(4) + len(alias).to_bytes(2, "big") + alias)
            name = there
        if kind == b"\0\1" and labels[0] == b"zero":
            leads["zero.test"] = "127.0.0.1"  # the next time
        server.sendto(query[:2] + b"\x81\x80\0\1" + len(records).to_bytes(2, "big") + bytes(4) + question +
                      b"".join(records), caller)
threading.Thread(target=name_server, daemon=True).start()
"""


@hosts_test
def names_that_lead_through_others_or_for_no_time_are_judged_by_where_they_end(world):
    world.ask("203.0.113.54")
    world.serve = NAME_SERVER
    names = ("fine.test", "round.test", "loop.test", "zero.test", "zero.test", "far.other.net")
    done = world.python(
        "for name in %r:\n    show(said(name))" % (names,), *{*names} - {"far.other.net"}
    )
    hello = "hello from " + FAR
    equal(done.lines(), [hello, "ECONNRESET", "ECONNRESET", hello, hello, "ECONNREFUSED"], done.errors)
    equal(set(done.visits), {FAR + ":443"}, "who was called")
    check("round.test:443" in done.errors and "10.77.0.1 is in a private network" in done.errors, done.errors)
    check("far.other.net" not in done.queries, done.queries)


@hosts_test
def names_of_tls_and_dns_over_other_ways_open_none(world):
    script = HELLO + """
query = b"\\0\\7\\1\\0\\0\\1" + bytes(6) + b"\\4good\\7example\\0\\0\\x41\\0\\1"
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect(("127.0.0.1", 53))
client.send(query)
show("answers:", int.from_bytes(client.recv(512)[6:8], "big"))
for place in ("good.example", "203.0.113.53", "203.0.113.5"):
    show(said(place, 853))
body = b"\\3\\3" + b"r" * 32 + b"\\0" + counted(b"\\x13\\1", 2) + counted(b"\\0", 1)
def hidden(name):
    more = b"\\0\\0" + counted(counted(b"\\0" + counted(name, 2), 2), 2) + b"\\xfe\\x0d" + counted(b"\\0" * 40, 2)
    return b"\\x16\\3\\1" + counted(b"\\1" + counted(body + counted(more, 2), 3), 2)
show(greet("good.example", hidden(b"front.example"), 1000) in ("ECONNRESET", "EPIPE"))
show(greet("good.example", hidden(b"good.example"), 1000))
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["answers: 0"] + ["ECONNREFUSED"] * 3 + ["True", "same"], done.errors)
    equal(done.queries, [], "queries that left")
    check("another server, front.example" in done.errors, done.errors)


@hosts_test
def datagrams_go_nowhere(world):
    script = """
for address in (("203.0.113.5", 443), ("203.0.113.53", 53)):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        try:
            client.sendto(b"x", address)
            client.connect(address)
            show("connected")
        except OSError as error:
            show(errno.errorcode[error.errno])
"""
    done = world.python(script, "good.example", FAR)
    equal((done.visits, done.queries), ([], []), "what arrived")
    equal(done.lines(), ["ENETUNREACH"] * 2, done.errors)


# A greeting of TLS for this name, or without one.
HELLO = """
def counted(bytes, size):
    return len(bytes).to_bytes(size, "big") + bytes
def hello(name):
    more = b"\\0\\0" + counted(counted(b"\\0" + counted(name, 2), 2), 2) if name else b""
    body = b"\\3\\3" + b"r" * 32 + counted(b"", 1) + counted(b"\\x13\\1", 2) + counted(b"\\0", 1) + counted(more, 2)
    return b"\\x16\\3\\1" + counted(b"\\1" + counted(body, 3), 2)
def greet(host, bytes, pieces=1):
    with socket.create_connection((host, 443), timeout=30) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            banner = client.recv(100)
            for at in range(0, len(bytes), pieces):
                client.sendall(bytes[at:at + pieces])
            text = b""
            while len(text) < len(bytes):
                block = client.recv(4096)
                if not block:
                    return "end"
                text += block
            return "same" if text == bytes else "other"
        except OSError as error:
            return errno.errorcode[error.errno]
"""


@hosts_test
def a_greeting_of_tls_for_another_name_is_refused_and_told(world):
    script = HELLO + """
show(greet("good.example", hello(b"good.example"), 1000))
show(greet("good.example", hello(b"Good.Example"), 7))
show(greet("good.example", hello(b""), 1000))
show(greet("good.example", b"GET / HTTP/1.0\\r\\n", 1000))
for name in (b"other.example", b"good.example.evil.net", b"sub.good.example"):
    show(greet("good.example", hello(name), 1000) in ("ECONNRESET", "EPIPE"))
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["same"] * 4 + ["True"] * 3, done.errors)
    check("another server" in done.errors, done.errors)


@hosts_test
def bytes_go_both_ways_unchanged_and_each_end_for_itself(world):
    script = """
size = 64 << 20
block = os.urandom(1 << 20)
client = socket.create_connection(("good.example", 443))
client.recv(100)
def send():
    for _ in range(size >> 20):
        client.sendall(block)
    client.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got, sum = 0, hashlib.sha256()
while part := client.recv(1 << 20):
    got += len(part)
    sum.update(part)
show(got == size, sum.digest() == hashlib.sha256(block * (size >> 20)).digest())
"""
    equal(world.python(script, "good.example").lines(), ["True True"], "what came back")


@hosts_test
def a_side_that_does_not_read_stops_the_other_one(world):
    script = """
client = socket.create_connection(("good.example", 443))
client.recv(100)
client.setblocking(False)
block = b"x" * (1 << 16)
sent, waits = 0, 0
while waits < 3:
    try:
        sent += client.send(block)
        waits = 0
    except BlockingIOError:
        waits = 0 if select.select([], [client], [], 0.5)[1] else waits + 1
show(sent < 100 << 20)
client.setblocking(True)
threading.Thread(target=lambda: client.shutdown(socket.SHUT_WR)).start()
got = 0
while part := client.recv(1 << 20):
    got += len(part)
show(got == sent)
"""
    equal(world.python(script, "good.example").lines(), ["True", "True"], "what came back")


@hosts_test
def the_death_of_the_server_ends_the_programs_and_their_connections(world):
    driver = """
import os, signal, subprocess, sys
inside = "import socket, time; c = socket.create_connection(('good.example', 443)); c.recv(100); "
inside += "print('connected', flush=True); time.sleep(600)"
run = subprocess.Popen([sys.argv[1], "run", "--allow-host=good.example", "--", sys.executable, "-c", inside],
                       stdout=subprocess.PIPE, text=True)
print(run.stdout.readline().strip())
run.send_signal(signal.SIGKILL)
print(repr(run.stdout.read()))  # ends when no program holds it any more
run.wait()
"""
    done = world.plain([PYTHON, "-c", driver, world.scene.command[0]])
    equal(done.lines(), ["connected", "''"], done.errors)


@hosts_test
def what_a_program_sent_before_its_end_arrives(world):
    script = 'c = socket.create_connection(("good.example", 22)); c.recv(100); c.sendall(b"x" * 1000); os._exit(0)'
    done = world.python(script, "good.example:22")
    equal((done.status, done.visits), (0, [FAR + ":22"]), done.errors)


@hosts_test
def a_reset_is_a_reset(world):
    script = """
client = socket.create_connection(("good.example", 81))
client.sendall(b"x")
try:
    show(client.recv(100))
except OSError as error:
    show(errno.errorcode[error.errno])
"""
    equal(world.python(script, "good.example:81").lines(), ["ECONNRESET"], "what it saw")


# At port 7, one connection after the other: says goodbye at once, reads on, and notes what came and how that ended.
ENDS_FIRST = r"""
import hashlib
server = socket.create_server(("203.0.113.5", 7))
def read_on():
    while True:
        client, _ = server.accept()
        client.sendall(b"goodbye")
        client.shutdown(socket.SHUT_WR)
        total = hashlib.sha256()
        try:
            while block := client.recv(1 << 16):
                total.update(block)
            visits.append(total.hexdigest())
        except ConnectionResetError:
            visits.append("reset")
        client.close()
threading.Thread(target=read_on, daemon=True).start()
"""


@hosts_test
def the_far_side_can_end_first_and_is_told_how_the_program_ends(world):
    world.serve = ENDS_FIRST
    script = """
def talk(data, resets=False):
    client = socket.create_connection(("good.example", 7))
    show(client.makefile("rb").read().decode())
    client.sendall(data)
    if resets:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
talk(b"much" * (8 << 20))
talk(b"", resets=True)
talk(b"")  # answered when the others are over
"""
    done = world.python(script, "good.example:7")
    equal(done.lines(), ["goodbye"] * 3, done.errors)
    equal(done.visits[:2], [hashlib.sha256(b"much" * (8 << 20)).hexdigest(), "reset"], "what the far side saw")


@hosts_test
def many_connections_at_once_by_a_loop_of_events(world):
    script = """
import asyncio
async def one(i):
    reader, writer = await asyncio.open_connection("good.example", 443)
    await reader.readline()
    writer.write(b"%d\\n" % i)
    same = await reader.readline() == b"%d\\n" % i
    writer.close()
    return same
async def all():
    return await asyncio.gather(*(one(i) for i in range(64)))
show(sum(asyncio.run(all())))
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["64"], done.errors)


@hosts_test
def a_program_that_listens_on_that_port_itself_still_gets_out(world):
    script = """
server = socket.socket()
server.bind(("0.0.0.0", 443))
server.listen()
show(said("good.example"))
server.close()
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["hello from " + FAR], done.errors)


@hosts_test
def a_program_cannot_make_a_way_of_its_own(world):
    script = """
def tried(action):
    try:
        return action()
    except OSError as error:
        return errno.errorcode[error.errno]
fast = socket.socket()
show(tried(lambda: fast.sendto(b"x", socket.MSG_FASTOPEN, ("203.0.113.5", 443))))
said("good.example")
show(tried(lambda: fast.sendto(b"x", socket.MSG_FASTOPEN, (socket.gethostbyname("good.example"), 443))))
raw = tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
show(raw)
other = socket.socket()
other.bind(("198.18.5.5", 443))
other.listen()
show(said("198.18.5.5", timeout=1))
"""
    done = world.python(script, "good.example")
    equal(done.visits, [FAR + ":443"], "who was called")
    equal(done.lines(), ["ENOTSUP", "ENOTSUP", "EPERM", "timed out"], done.errors)


@hosts_test
def floods_of_queries_and_names_leave_the_others_as_they_are(world):
    script = """
show(said("good.example"))
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(2000):
    flood.sendto(os.urandom(i % 600), ("127.0.0.1", 53))
def has_address(name):
    try:
        return bool(socket.gethostbyname(name))
    except OSError:
        return False
show(sum(has_address("n%d.fill.example" % i) for i in range(4120)))
show(has_address("new.example"), said("good.example"))
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["hello from " + FAR, "4095", "False hello from " + FAR], done.errors)


@hosts_test
def too_many_connections_are_reset_and_the_others_stay(world):
    script = """
held = []
for i in range(300):
    try:
        client = socket.create_connection(("good.example", 443), timeout=60)
        if not client.recv(100):
            break
    except ConnectionResetError:
        break
    held.append(client)
show(len(held))
held[0].sendall(b"still here")
show(held[0].recv(100).decode())
for client in held:
    client.close()
end = time.monotonic() + 60
while (last := said("good.example")) == "ECONNRESET" and time.monotonic() < end:
    pass
show(last)
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["256", "still here", "hello from " + FAR], done.errors)
    check("too many connections" in done.errors, done.errors)


@hosts_test
def a_thread_that_changes_the_address_meanwhile_gains_nothing(world):
    script = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
good = socket.gethostbyname("good.example")
def pack(host, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)
place = ctypes.create_string_buffer(pack(good, 443), 16)
forms = [pack(good, 443), pack("203.0.113.6", 443), pack("10.77.0.1", 443), pack("127.0.0.1", 443)]
is_over = False
def change():
    while not is_over:
        for form in forms:
            ctypes.memmove(place, form, 16)
thread = threading.Thread(target=change)
thread.start()
seen = set()
for _ in range(300):
    with socket.socket() as client:
        if libc.connect(client.fileno(), place, 16) == 0:
            client.settimeout(30)
            seen.add(client.recv(100))
is_over = True
thread.join()
show(sorted(seen - {b"hello from 203.0.113.5\\n"}))
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["[]"], done.errors)
    equal(set(done.visits) - {FAR + ":443"}, set(), "who else was called")


@hosts_test
def a_thread_that_changes_the_socket_meanwhile_gains_nothing(world):
    script = """
good, other = (socket.gethostbyname(name) for name in ("good.example", "other.example"))
places = [(good, 443), (other, 443), ("203.0.113.6", 443)]
taken = socket.socket()
number = taken.fileno()
spares = []
is_over = False
def change():
    while not is_over:
        for spare in list(spares):
            os.dup2(spare.fileno(), number)
thread = threading.Thread(target=change)
thread.start()
seen = set()
for i in range(300):
    spares[:] = [socket.socket(), socket.socket(), socket.socket(socket.AF_INET6),
                 socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX)]
    try:
        taken.connect(places[i % 3])
    except OSError:
        pass
    for spare in spares:
        try:
            spare.getpeername()
            if spare.type == socket.SOCK_DGRAM:
                spare.send(b"x")
            else:
                spare.settimeout(30)
                seen.add(spare.recv(100))
        except OSError:
            pass
is_over = True
thread.join()
show(sorted(seen - {b"hello from 203.0.113.5\\n"}))
"""
    done = world.python(script, "good.example")
    equal(done.lines(), ["[]"], done.errors)
    equal(set(done.visits), {FAR + ":443"}, "who was called")


@hosts_test
def the_machines_loopback_stays_out_of_reach(world):
    script = """
show(said("127.0.0.1", 443))
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"own\\n"), daemon=True).start()
show(said("127.0.0.1", server.getsockname()[1]))
show(said("localhost", server.getsockname()[1], timeout=1))
"""
    done = world.python(script, "good.example")
    equal(done.lines()[:2], ["ENETUNREACH", "own"], done.errors)
    equal(done.visits, [], "who was called")
    check("loopback is the command's own" in done.errors, done.errors)


@hosts_test
def what_no_rule_could_allow_is_not_advised(world):
    script = 'for address in ("255.255.255.255", "224.0.0.1", "203.0.113.6"):\n    said(address)'
    done = world.python(script, "good.example")
    check("--allow-host 203.0.113.6:443" in done.errors, done.errors)
    check("many hosts" in done.errors, done.errors)
    for address in ("255.255.255.255", "224.0.0.1"):
        check("--allow-host " + address not in done.errors, done.errors)


@hosts_test
def rules_in_files_count_and_the_strictest_wins(world):
    world.rules(
        '[[network]]\nhost = "*.example"\nevery_host = true\nports = [443]\ndecision = "allow"\n'
        '[[network]]\nhost = "other.example"\ndecision = "forbidden"\njustification = "not that one"\n'
        '[[network]]\nhost = "203.0.113.6"\ndecision = "forbidden"\n'
    )
    script = 'show(said("good.example")); show(said("other.example")); show(said("good.example", 80))'
    done = world.python(script, "other.example")
    equal(done.lines(), ["hello from " + FAR, "ECONNREFUSED", "ECONNREFUSED"], done.errors)
    check("not that one" in done.errors, done.errors)


@hosts_test
def a_process_reaches_the_hosts_of_its_request(world):
    start = {
        "processId": "p",
        "argv": [PYTHON, "-c", TOOLS + 'show(said("good.example")); show(said("other.example"))'],
        "cwd": "file://" + world.directory,
        "env": {"PATH": PATH},
        "tty": False,
        "arg0": None,
        "sandbox": {
            "mode": "require",
            "policy": {"type": "workspace-write", "network": "hosts"},
            "allowHosts": ["good.example:443"],
        },
    }
    done = world.client(start=start)
    check(done.lines()[:2] == ["hello from " + FAR, "ECONNREFUSED"], done.text + done.errors)
    check("other.example:443" in done.text, done.text)
    rows = world.plain([world.scene.command[0], "audit", "network"]).lines()
    equal(len(rows), 1, rows)
    check("good.example:443" in rows[0] and "1 connections" in rows[0], rows)
    start["sandbox"]["policy"]["network"] = "restricted"
    check("allowHosts needs" in world.client(start=start).text, "without the network by host")
    start["sandbox"]["policy"]["network"] = "hosts"
    start["sandbox"]["allowHosts"] = ["*"]
    check("sandbox.allowHosts" in world.client(start=start).text, "every host")


@hosts_test
def a_proxy_that_a_process_is_to_get_is_a_network_by_host(world):
    names = ["good.example", "sub.good.example", "other.example", "private.example"]
    proxy = {"enabled": True, "mode": "full", "enableSocks5": True, "allowLocalBinding": True}
    domains = {"**.good.example": "allow", "sub.good.example": "deny", "private.example": "allow"}
    start = {
        "processId": "p",
        "argv": [PYTHON, "-c", TOOLS + "for name in %r:\n    show(said(name))" % names],
        "cwd": "file://" + world.directory,
        "env": {"PATH": PATH, "HTTPS_PROXY": "http://127.0.0.1:43123"},
        "tty": False,
        "sandbox": {"mode": "require", "policy": {"type": "workspace-write", "network": "restricted"}},
        "enforceManagedNetwork": True,
        "networkProxy": {"proxy": {**proxy, "domains": domains}, "policyDecisionTimeoutMs": 1000},
    }
    done = world.client(start=start)
    lines = ["hello from " + FAR, "ECONNREFUSED", "ECONNREFUSED", "ECONNRESET"]
    equal(done.lines()[:4], lines, done.text + done.errors)
    check("a rule forbids it: networkProxy" in done.text, done.text)
    for member, value in (("mode", "limited"), ("mitm", True), ("domains", {"a*.example": "allow"})):
        start["networkProxy"] = {"proxy": {**proxy, member: value}}
        refused = world.client(start=start).text
        check("networkProxy.proxy" in refused and member in refused and "hello" not in refused, refused)
    del start["networkProxy"]
    check('"path": "enforceManagedNetwork"' in world.client(start=start).text, "without a managed network")


@hosts_test
def a_session_that_observes_reaches_public_hosts_and_the_audit_has_them(world):
    world.rules('[[network]]\nhost = "other.example"\ndecision = "forbidden"\n')
    script = TOOLS + 'show(said("good.example")); show(said("other.example")); show(said("private.example"))'
    done = world.client(
        settings={"confinement": {"networkObserve": True}, "approvalPolicy": "never"},
        command={"argv": [PYTHON, "-c", script], "workdir": world.directory, "yieldTimeMs": 30000},
    )
    check("hello from %s\\nECONNREFUSED\\nECONNRESET" % FAR in done.text, done.text + done.errors)
    rows = world.plain([world.scene.command[0], "audit", "network"]).text
    check("good.example:443" in rows and "network_observe" in rows, rows)


@hosts_test
def a_command_of_a_session_reaches_the_hosts_that_rules_allow(world):
    world.rules('[[network]]\nhost = "good.example"\ndecision = "allow"\n')
    script = TOOLS + 'show(said("good.example")); show(said("other.example"))'
    done = world.client(
        settings={"confinement": {"networkByHost": True}, "approvalPolicy": "never"},
        command={"argv": [PYTHON, "-c", script], "workdir": world.directory, "yieldTimeMs": 30000},
    )
    check("hello from " + FAR in done.text, done.text + done.errors)
    check("other.example:443" in done.text, done.text)


@hosts_test
def the_audit_knows_who_was_called(world):
    script = 'show(said("good.example")); show(said("good.example")); show(said("other.example")); show(said("loop.example"))'
    world.python(script, "good.example", "loop.example")
    world.python('show(said("good.example", 80))', "good.example:80")
    command = [world.scene.command[0], "audit", "network", "--database=" + world.scene.path("approvals.db")]
    rows = world.plain(command).lines()
    equal(len(rows), 2, rows)
    for word in ("good.example:443", "--allow-host", "2 connections, 0 bytes sent, "):
        check(word in rows[0], rows[0])
    exported = world.plain([world.scene.command[0], "audit", "export", "--json"]).lines()
    details = [row for row in map(json.loads, exported) if row["event"] == "network"]
    equal([(row["decision"], row.get("detail", "")) for row in details],
          [("good.example:443", ""), ("good.example:80", "")], "rows as JSON")
    facts = details[0]["network"]
    equal((facts["connections"], facts["bytesSent"], facts["bytesReceived"]), (2, 0, 2 * len("hello from \n" + FAR)), facts)
    check("python" in facts["program"], facts)
    total = world.plain([*command, "--by-host"]).lines()
    check(total[0].startswith("good.example:443: 2 connections of 1 commands, 0 bytes sent, "), total)
    check(total[1].startswith("good.example:80: 1 connections of 1 commands, "), total)


@hosts_test
def the_tools_of_everyday_need_no_proxy(world):
    for words, expected in (
        (["curl", "-sS", "--http0.9", "http://good.example/"], "hello from " + FAR),
        (["node", "-e", 'require("net").connect(443, "good.example").on("data", d => '
                        '{process.stdout.write(d); process.exit()})'], "hello from " + FAR),
        (["bash", "-c", "read -r line < /dev/tcp/good.example/80; echo $line"], "hello from " + FAR),
    ):
        if not shutil.which(words[0], path=PATH):
            continue
        done = world.run(words, "good.example")
        equal(done.lines(), [expected], "%s: %s" % (words[0], done.errors))


if __name__ == "__main__":
    main()

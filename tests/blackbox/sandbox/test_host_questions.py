"""Questions about hosts: a connect waits until a person has answered, and what the answer counts for."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal
from support.host_questions import ASKED, NO, ONCE, Facts, asked, scoped
from support.host_worlds import FAR, TOOLS, hosts_test
from support.runner import main
from support.sandboxes import PATH


@hosts_test
def a_connect_waits_for_the_answer_and_goes_on_or_is_refused(world):
    script = 'show(said("good.example")); show(said("other.example")); show(said("other.example", 80))'
    facts = asked(world, {"good.example": ONCE, "other.example": [NO, ONCE]}, script)
    equal(facts.lines(), ["hello from " + FAR, "ECONNREFUSED", "hello from 203.0.113.6"], facts.all)
    equal(facts.hosts(), ["good.example:443", "other.example:443", "other.example:80"], "questions")
    question = facts.questions[0]
    equal(question["kind"], "network", "kind")
    check(question["network"]["program"].endswith(os.path.basename(os.path.realpath(PYTHON))), question)
    equal(question["network"]["argv"][1], "-c", "what the program calls itself")
    check("connect to good.example:443" in question["display"]["notes"][0], question)
    (denial,) = facts.denials()
    equal(denial["target"], "other.example:443", "what was denied")
    check("it was denied" in denial["rule"], denial)
    equal(facts.queries, [], "queries that left")


@hosts_test
def a_socket_that_was_refused_can_connect_elsewhere(world):
    script = """
client = socket.socket()
show(errno.errorcode[client.connect_ex((socket.gethostbyname("other.example"), 443))])
show(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
client.connect((socket.gethostbyname("good.example"), 443))
show(client.recv(100).decode().strip())
"""
    facts = asked(world, {"good.example": ONCE, "other.example": NO}, script)
    equal(facts.lines(), ["ECONNREFUSED", "0", "hello from " + FAR], facts.all)


@hosts_test
def a_connect_of_an_event_loop_stalls_nothing_else(world):
    script = """
import selectors
loop = selectors.DefaultSelector()
client = socket.socket()
client.setblocking(False)
address = socket.gethostbyname("other.example")
begin = time.monotonic()
show(errno.errorcode[client.connect_ex((address, 443))], time.monotonic() - begin < 5)
loop.register(client, selectors.EVENT_WRITE)
show(said("good.example"), len(loop.select(0)))
show("now")
show(len(loop.select(60)), client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (0, errno.ECONNREFUSED))
if client.getpeername:
    try:
        client.getpeername()
        client.setblocking(True)
        show(client.recv(100).decode().strip())
    except OSError as error:
        show(errno.errorcode[error.errno])
"""
    for answer, last in ((ONCE, "hello from 203.0.113.6"), (NO, "ENOTCONN")):
        facts = asked(world, {"good.example": ONCE, "other.example": {**answer, "until": "now"}}, script)
        equal(
            facts.lines(),
            ["EINPROGRESS True", "hello from %s 0" % FAR, "now", "1 True", last],
            facts.all,
        )


@hosts_test
def an_answer_is_for_the_socket_that_was_asked_about(world):
    # Another thread puts a socket that connects to a host nobody has allowed in its place.
    script = """
def is_under_way(client):
    return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 2  # TCP_SYN_SENT
def peer(client):
    try:
        return client.getpeername() and client.recv(100).decode().strip()
    except OSError as error:
        return errno.errorcode[error.errno]
other = socket.socket()
other.setblocking(False)
other.connect_ex((socket.gethostbyname("other.example"), 443))
wanted = socket.socket()
same = wanted.dup()
address = socket.gethostbyname("good.example")
result = []
thread = threading.Thread(target=lambda: result.append(wanted.connect_ex((address, 443))))
thread.start()
while not is_under_way(same):
    time.sleep(0.01)
os.dup2(other.fileno(), wanted.fileno())
show("changed")
thread.join()
show(result[0] and errno.errorcode[result[0]], peer(same), peer(wanted), is_under_way(wanted))
wanted.close()
show(said("other.example", timeout=1))
"""
    for answer, first in ((ONCE, "0 hello from " + FAR), (NO, "ECONNREFUSED ENOTCONN")):
        facts = asked(world, {"good.example": {**answer, "until": "changed"}, "other.example": None}, script)
        equal(facts.lines(), ["changed", first + " ENOTCONN True", "timed out"], facts.all)
        equal(facts.visits, [FAR + ":443"] * (answer == ONCE), "who was called")


@hosts_test
def a_program_with_a_long_command_line_is_shown_in_brief(world):
    script = """
words = [sys.executable, "-c", os.environ["CLIENT"], *("%04d" % i + "x" * 100000 for i in range(15))]
os.execv(sys.executable, words)
"""
    step = {"argv": [PYTHON, "-c", TOOLS + script], "workdir": world.directory, "yieldTimeMs": 30000,
            "env": {"CLIENT": TOOLS + 'show(sum(map(len, sys.argv)) > 1 << 20, said("good.example"))'}}
    facts = asked(world, {"good.example": ONCE}, step)
    equal(facts.lines(), ["True hello from " + FAR], facts.all)
    (question,) = facts.questions
    check(len(json.dumps(question)) < 20_000, len(json.dumps(question)))
    check(len(question["network"]["argv"]) <= 16, question["network"]["argv"])


@hosts_test
def connects_to_one_host_share_a_question_and_an_answer_counts_for_the_command(world):
    script = """
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    show(set(pool.map(said, ["good.example"] * 4 + ["GOOD.example."] * 4)))
show(said("good.example"))
"""
    facts = asked(world, {"good.example": ONCE}, script)
    equal(facts.lines(), ["{'hello from %s'}" % FAR, "hello from " + FAR], facts.all)
    equal(facts.hosts(), ["good.example:443"], "questions")
    facts = asked(world, {"good.example": NO}, script)
    equal(facts.lines(), ["{'ECONNREFUSED'}", "ECONNREFUSED"], facts.all)
    equal(facts.hosts(), ["good.example:443"], "questions")


@hosts_test
def who_may_not_ask_is_refused_with_what_would_allow_it(world):
    script = 'show(said("good.example"))'
    for more, reason in (({"policy": "never"}, "asks nobody"), ({"asks": False}, "cannot ask")):
        facts = asked(world, {"good.example": ONCE}, script, **more)
        equal((facts.lines(), facts.questions), (["ECONNREFUSED"], []), facts.all)
        (denial,) = facts.denials()
        check(reason in denial["rule"] and '[[network]] host = "good.example"' in denial["allow"], denial)


@hosts_test
def a_question_outlives_its_call_and_is_withdrawn_with_its_process(world):
    script = 'show("begun"); show(said("good.example", timeout=None)); show(said("other.example", timeout=None))'
    command = {"argv": [PYTHON, "-c", TOOLS + script], "workdir": world.directory, "yieldTimeMs": 250}
    facts = asked(world, {"good.example": {**ONCE, "until": "begun"}}, command,
                  ["exec/wait", {"processId": "1000", "until": {"pattern": "hello"}}],
                  ["exec/wait", {"processId": "1000", "timeoutMs": 500}],
                  ["exec/terminateAll", {}], ["exec/wait", {"processId": "1000"}], leaves=True)
    equal(facts.hosts(), ["good.example:443", "other.example:443"], facts.all)
    equal(facts.withdrawn, [facts.questions[1]["approvalId"]], facts.all)
    equal(facts.visits, [FAR + ":443"], "who was called")


@hosts_test
def a_rule_that_forbids_stays_and_one_that_prompts_is_asked(world):
    world.rules(
        '[[network]]\nhost = "other.example"\ndecision = "forbidden"\n'
        '[[network]]\nhost = "good.example"\ndecision = "prompt"\n'
        '[[network]]\nhost = "203.0.113.5"\ndecision = "prompt"\n'
    )
    script = 'show(said("good.example")); show(said("other.example")); show(said("203.0.113.5"))'
    facts = asked(world, {"good.example": ONCE, FAR: ONCE}, script)
    # The name leads to an address about which a rule wants another question.
    equal(facts.lines(), ["ECONNRESET", "ECONNREFUSED", "hello from " + FAR], facts.all)
    equal(facts.hosts(), ["good.example:443", FAR + ":443"], "questions")
    check("network.toml" in facts.questions[0]["network"]["rule"], facts.questions[0])
    rows = world.plain([world.scene.command[0], "audit", "export", "--json"]).lines()
    asked_by = [(row["detail"], row["decidedBy"], row["rule"].rpartition("/")[2])
                for row in map(json.loads, rows) if row["event"] == "question"]
    equal(asked_by, [("network, good.example:443", "rule", "network.toml:4"),
                     ("network, %s:443" % FAR, "rule", "network.toml:7")], "rows")


@hosts_test
def a_grant_of_a_name_opens_no_private_address(world):
    script = 'show(said("private.example")); show(said("10.77.0.1")); show(said("loop.example"))'
    facts = asked(world, {"*": ONCE}, script)
    equal(facts.lines(), ["ECONNRESET", "hello from 10.77.0.1", "ECONNRESET"], facts.all)
    equal(facts.visits, ["10.77.0.1:443"], "who was called")


def process(world, script, name="p", **sandbox):
    return {
        "processId": name,
        "argv": ["python3", "-c", TOOLS + script],
        "cwd": "file://" + world.directory,
        "env": {"PATH": PATH},
        "tty": False,
        "arg0": None,
        "sandbox": {"mode": "require", "policy": {"type": "workspace-write", "network": "hosts"}, **sandbox},
    }


@hosts_test
def a_process_of_process_start_asks_if_its_client_can(world):
    world.rules(
        '[[network]]\nhost = "sub.good.example"\ndecision = "forbidden"\n'
        '[[network]]\nhost = "203.0.113.6"\ndecision = "allow"\nports = [443]\n'
    )
    script = """
for host in ("good.example", "other.example", "sub.good.example", "203.0.113.6", "203.0.113.5"):
    show(said(host))
"""
    start = process(world, script, allowHosts=["203.0.113.5:443", "sub.good.example"])
    hello = "hello from 203.0.113."
    answers = {"good.example": ONCE, "other.example": NO}
    facts = asked(world, answers, start)
    equal(
        facts.output.splitlines(),
        [hello + "5", "ECONNREFUSED", "ECONNREFUSED", hello + "6", hello + "5"],
        facts.all,
    )
    equal(facts.hosts(), ["good.example:443", "other.example:443"], "questions")
    question = facts.questions[0]
    equal((question["kind"], question["network"]["processId"], question["workdir"]),
          ("network", "p", world.directory), question)
    equal((question["argv"][0], question["program"][0], question["sandbox"]["type"]),
          ("python3", "/", "linuxSeccomp"), question)
    check("it was denied" in facts.denials()[0]["rule"], facts.denials())
    # Who cannot ask gets what the request names, whatever the rules say.
    facts = asked(world, {}, start, asks=False)
    equal(facts.output.splitlines(), ["ECONNREFUSED"] * 2 + [hello + "5", "ECONNREFUSED", hello + "5"], facts.all)
    equal(facts.questions, [], "questions")
    facts = asked(world, answers, start, policy="never")
    equal(facts.output.splitlines()[:2], ["ECONNREFUSED"] * 2, facts.all)
    check("asks nobody" in facts.denials()[0]["rule"], facts.denials())


# As Codex 0.171 sends it.
NETWORK_PROXY = {
    "proxy": {
        "enabled": True, "enableSocks5": True, "enableSocks5Udp": False, "allowUpstreamProxy": False,
        "dangerouslyAllowAllUnixSockets": False, "mode": "full", "domains": None, "unixSockets": None,
        "allowLocalBinding": False,
    },
    "policyDecisionTimeoutMs": 60000,
}


@hosts_test
def a_process_with_codexs_network_proxy_asks_by_codexs_request(world):
    script = 'show(said("good.example")); show(said("other.example")); show(said("good.example", 80)); '
    script += 'show(said("good.example")); show(said("own.example", 22))'
    start = {**process(world, script), "enforceManagedNetwork": True, "networkProxy": NETWORK_PROXY}
    answers = {"good.example": {"type": "allow"}, "other.example": {"type": "deny", "reason": "not_allowed"},
               "own.example": {"type": "ask", "reason": "ask"}}
    facts = asked(world, answers, start, asks=False)
    hello = "hello from " + FAR
    equal(facts.output.splitlines(), [hello, "ECONNREFUSED", hello, hello, "ECONNREFUSED"], facts.all)
    equal([(one["processId"], *one["request"].values()) for one in facts.policy],
          [("p", "https_connect", "good.example", 443), ("p", "https_connect", "other.example", 443),
           ("p", "http", "good.example", 80), ("p", "socks5_tcp", "own.example", 22)], facts.policy)
    denied, unasked = (denial["rule"] for denial in facts.denials())
    check("it was denied: not_allowed" in denied, denied)
    check("approvals grant --question=" in unasked, unasked)
    check(all(type(one) is int for one in facts.policy_ids), facts.policy_ids)  # Codex takes no others
    # A client that sends no time for its decisions makes none.
    untimed = {**start, "networkProxy": {"proxy": NETWORK_PROXY["proxy"]}}
    facts = asked(world, {}, untimed, asks=False)
    equal((facts.policy, set(facts.output.splitlines())), ([], {"ECONNREFUSED"}), facts.all)
    # A client that declares execward's own approvals gets those.
    facts = asked(world, {"*": NO}, start)
    equal((len(facts.policy), facts.hosts()[0]), (0, "good.example:443"), facts.all)


@hosts_test
def an_answer_to_a_process_counts_as_far_as_it_says(world):
    script = 'show(said("good.example", timeout=None))'
    processes = [process(world, script, name) for name in ("a", "b")]
    facts = asked(world, {"good.example": [scoped("session")]}, *processes, script)
    equal((facts.output.splitlines(), len(facts.questions)), (["hello from " + FAR] * 3, 1), facts.all)
    facts = asked(world, {"good.example": [ONCE, NO]}, *processes)
    equal((facts.output.splitlines(), len(facts.questions)), (["hello from " + FAR, "ECONNREFUSED"], 2), facts.all)
    # The end of the process withdraws its question.
    facts = asked(world, {"*": None}, process(world, "show('begun');" + script),
                  ["process/read", {"processId": "p", "until": {"pattern": "begun"}, "waitMs": 60000}],
                  ["process/read", {"processId": "p", "afterSeq": 1, "waitMs": 500}],
                  ["process/terminate", {"processId": "p"}],
                  ["process/read", {"processId": "p", "afterSeq": 1, "waitMs": 60000}],
                  ["process/list", {}], leaves=True)
    equal(facts.withdrawn, [question["approvalId"] for question in facts.questions], facts.all)
    equal((len(facts.withdrawn), facts.visits), (1, []), facts.all)


@hosts_test
def a_question_that_nobody_could_be_asked_can_be_granted_later(world):
    script = 'show(said("good.example"))'
    facts = asked(world, {"good.example": {"decision": "unasked"}}, process(world, script))
    equal(facts.output.splitlines(), ["ECONNREFUSED"], facts.all)
    words = facts.denials()[0]["rule"]
    check("approvals grant --question=" in words, words)
    execward = world.scene.command[0]
    number = words.split("--question=")[1].split()[0].rstrip(";)")
    granted = world.plain([execward, "approvals", "grant", "--question=" + number, "--yes"])
    equal(granted.status, 0, granted.errors)
    for step in (process(world, script), script):
        facts = asked(world, {}, step)
        equal((facts.output.splitlines(), facts.questions), (["hello from " + FAR], []), facts.all)


@hosts_test
def a_flood_of_questions_is_bounded(world):
    script = """
clients = []
for i in range(20):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex((socket.gethostbyname("n%d.fill.example" % i), 443))
    clients.append(client)
show("made")
refused = sum(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0 for client in clients)
show(refused)
"""
    facts = asked(world, {"*": None}, script)
    equal(len(facts.questions), 8, facts.all)
    equal(len(facts.withdrawn), 8, "questions that were withdrawn")
    check(any("too many hosts" in denial["rule"] for denial in facts.denials()), facts.denials())


@hosts_test
def a_hostile_name_is_decoded_and_flagged(world):
    facts = asked(world, {"*": NO}, 'show(said("xn--pple-43d.com"))')
    display = facts.questions[0]["display"]
    check(display["hasMixedScripts"], display)
    check("xn--pple-43d.com:443" in display["notes"][0] and "аpple.com" in display["notes"][1], display)


@hosts_test
def a_longer_answer_counts_for_the_session_and_can_be_withdrawn(world):
    script = 'show(said("good.example"))'
    facts = asked(world, {"good.example": [scoped("session"), NO]}, script, script, ["approvals/list", {}],
                  ["approvals/revoke", {"everything": True}], script)
    equal(facts.lines(), ["hello from " + FAR] * 2 + ["ECONNREFUSED"], facts.all)
    equal(len(facts.questions), 2, "questions")
    (info,) = facts.lists[0]["result"]["approvals"]
    equal((info["kind"], info["scope"], info["command"]), ("host", "session", "connect to good.example:443"), info)
    equal(asked(world, {"good.example": NO}, script).hosts(), ["good.example:443"], "another session is asked")


@hosts_test
def an_answer_for_always_is_kept_and_ends_at_the_connect_after_its_withdrawal(world):
    script = 'show(said("good.example"))'
    asked(world, {"good.example": scoped("always")}, script)
    execward = world.scene.command[0]
    check("connect to good.example:443" in world.plain([execward, "approvals", "list"]).text, "the list")
    again = asked(world, {}, script)
    equal((again.lines(), again.questions), (["hello from " + FAR], []), again.all)
    rows = world.plain([execward, "audit", "tail", "--json", "-n", "50"]).text
    for word in ('"question"', "network, good.example:443", "good.example:443, always", '"grant"'):
        check(word in rows, rows)
    # One command, during which the approval is withdrawn.
    script = """
show(said("good.example"))
show("one")
while not os.path.exists("withdrawn"):
    time.sleep(0.02)
show(said("good.example"))
"""
    words = 'python3 -c "" ; %s approvals revoke --all && touch withdrawn' % execward
    done = world.plain(["bash", "-c", '"$0" -c "$1" "$2" "$3" & %s; wait' % (
        'while ! grep -q one out 2>/dev/null; do sleep 0.05; done; ' + words),
        PYTHON, ASKED_TO_FILE, execward, json.dumps({
            "answers": {"good.example": NO},
            "settings": {"confinement": {"networkByHost": True}, "approvalPolicy": "on-request",
                         "workspaceRoots": ["file://" + world.directory]},
            "steps": [{"argv": [PYTHON, "-c", TOOLS + script], "workdir": world.directory, "yieldTimeMs": 30000}],
        })])
    facts = Facts(done)
    equal(facts.lines(), ["hello from " + FAR, "one", "ECONNREFUSED"], facts.all)
    equal(facts.hosts(), ["good.example:443"], "questions")


@hosts_test
def an_approval_is_on_the_disk_before_the_connect_goes_on(world):
    # The server and all that it has started are killed as soon as the program has its connection.
    killed = ASKED.replace(
        'facts["output"] += message["params"]["delta"]',
        'facts["output"] += message["params"]["delta"]; "hello" in facts["output"] and end()',
    ).replace(
        "later = {}",
        """later = {}

def end():
    import os, signal
    tasks = "/proc/%d/task/%d/children" % (child.pid, child.pid)
    for process in [*map(int, open(tasks).read().split()), child.pid]:
        os.kill(process, signal.SIGKILL)
    os._exit(0)
""",
    )
    order = {
        "answers": {"good.example": scoped("always")},
        "settings": {"confinement": {"networkByHost": True}, "approvalPolicy": "on-request"},
        "steps": [{"argv": [PYTHON, "-c", TOOLS + 'show(said("good.example")); time.sleep(600)']}],
    }
    world.plain([PYTHON, "-c", killed, world.scene.command[0], json.dumps(order)])
    listed = world.plain([world.scene.command[0], "approvals", "list"]).text
    check("connect to good.example:443" in listed, listed)


# The same client, which writes the output of the command into a file as it comes.
ASKED_TO_FILE = ASKED.replace(
    'facts["output"] += message["params"]["delta"]',
    'facts["output"] += message["params"]["delta"]; open("out", "a").write(message["params"]["delta"])',
)


# Runs the words after the first two arguments in a terminal of their own, and types the next of the first one's
# answers at each question. The second one is typed first, and is for the command.
AT_TERMINAL = r"""
import json, os, pty, sys
answers, typed = json.loads(sys.argv[1]), sys.argv[2].encode()
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[3], sys.argv[3:])
seen, asked = b"", 0
while True:
    try:
        block = os.read(terminal, 4096)
    except OSError:
        break
    if not block:
        break
    seen += block
    if typed and b"begun" in seen:
        os.write(terminal, typed)
        typed = b""
    if seen.count(b"your answer (") > asked and seen.rstrip().endswith(b"?"):
        asked = seen.count(b"your answer (")
        if answers:
            os.write(terminal, answers.pop(0).encode() + b"\n")
print(json.dumps({"seen": seen.decode(), "status": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "asked": asked}))
"""


def at_terminal(world, answers, script, typed="", options=()):
    execward = world.scene.command[0]
    done = world.plain(
        [PYTHON, "-c", AT_TERMINAL, json.dumps(answers), typed, execward, "run", "--network=ask", *options, "--",
         PYTHON, "-c", TOOLS + script]
    )
    check(done.text, done.errors)
    return json.loads(done.text.splitlines()[-1]), done


@hosts_test
def run_asks_on_the_terminal_and_goes_on(world):
    script = """
import fcntl, termios
show("begun"); show("typed", input()); show(said("good.example")); show(said("good.example"))
show(said("other.example")); show("tty", os.isatty(0), len(input()))
"""
    facts, done = at_terminal(world, ["x", "y", "n"], script, typed="first\nsecond\n")
    seen = facts["seen"].replace("\r\n" + " " * 13, "").splitlines()
    for line in ("typed first", "hello from " + FAR, "ECONNREFUSED", "execward: may this command connect to "
                 "good.example, port 443?", "execward: may this command connect to other.example, port 443?"):
        check(line in seen, "%s in %s" % (line, facts["seen"]))
    equal((facts["asked"], seen.count("hello from " + FAR), facts["status"]), (3, 2, 0), facts["seen"])
    check("It wants to connect to good.example:443." in facts["seen"], facts["seen"])
    check("it was denied" in facts["seen"], facts["seen"])
    # Whatever the program has begun to write, the terminal shows the question.
    begin = "\x18\x1b\\\x1b[!p\x1b[0m\x1b(B\x0f\r\nexecward: may this command connect"
    equal(facts["seen"].count(begin), 2, facts["seen"])
    equal(done.visits, [FAR + ":443"] * 2, "who was called")


# Runs a shell with job control in a terminal of its own. Types the second of each pair once the first has been seen
# after all that was typed before.
AT_SHELL = r"""
import json, os, pty, sys
steps = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = fresh = b""
while True:
    try:
        block = os.read(terminal, 4096)
    except OSError:
        break
    seen, fresh = seen + block, fresh + block
    if steps and steps[0][0].encode() in fresh:
        fresh = b""
        os.write(terminal, steps.pop(0)[1].encode())
os.waitpid(child, 0)
print(json.dumps({"seen": seen.decode(), "left": steps}))
"""


@hosts_test
def a_question_is_shown_again_after_a_stop_of_the_job(world):
    with open(os.path.join(world.directory, "connect.py"), "w") as file:
        file.write(TOOLS + 'show(said("good.example", timeout=None))')
    words = "%s run --network=ask -- %s connect.py" % (world.scene.command[0], PYTHON)
    answer = "your answer (y/p/a/n/d, then Enter)? "
    prompt = "$ " if os.geteuid() else "# "
    steps = [[prompt, words + "\n"], [answer, "\x1a"], ["Stopped", "fg\n"], [answer, "\x1a"], ["Stopped", "fg\n"],
             [answer, "y\n"], [prompt, "exit\n"]]
    done = world.plain([PYTHON, "-c", AT_SHELL, json.dumps(steps)])
    facts = json.loads(done.lines()[-1])
    equal(facts["left"], [], facts["seen"])
    equal(facts["seen"].count("may this command connect to good.example, port 443?"), 3, facts["seen"])
    check("hello from " + FAR in facts["seen"], facts["seen"])
    equal(done.visits, [FAR + ":443"], "who was called")


@hosts_test
def an_answer_for_always_at_the_terminal_counts_for_later_runs_without_one(world):
    script = 'show(said("good.example"))'
    refused = world.python(script, options=["--network=ask"])
    equal(refused.lines(), ["ECONNREFUSED"], refused.errors)
    for words in ("no terminal to ask on", "--allow-host good.example:443"):
        check(words in refused.errors, refused.errors)
    facts, _ = at_terminal(world, ["a"], script)
    check("hello from " + FAR in facts["seen"], facts["seen"])
    done = world.python(script)
    equal(done.lines(), ["hello from " + FAR], done.errors)
    rows = world.plain([world.scene.command[0], "audit", "tail", "-n", "50"]).text
    check("network, good.example:443" in rows and "grant 1" in rows, rows)


@hosts_test
def the_end_of_a_command_ends_its_question(world):
    script = """
import signal
threading.Thread(target=said, args=("good.example",), daemon=True).start()
while not os.path.exists("go"):
    time.sleep(0.02)
os._exit(7)
"""
    execward = world.scene.command[0]
    done = world.plain(
        ["bash", "-c", '"$0" -c "$1" "[]" "" "$2" run --network=ask -- "$0" -c "$3" > facts & '
         'while ! "$2" audit tail -n 9 | grep -q "network, good"; do sleep 0.05; done; touch go; wait; cat facts',
         PYTHON, AT_TERMINAL, execward, TOOLS + script]
    )
    facts = json.loads(done.text.splitlines()[-1])
    equal(facts["status"], 7, facts["seen"])
    equal(done.visits, [], "who was called")


@hosts_test
def an_answer_for_the_session_answers_what_other_commands_ask(world):
    script = 'show(said("good.example", timeout=None))'
    command = {"argv": [PYTHON, "-c", TOOLS + script], "workdir": world.directory, "yieldTimeMs": 250}
    facts = asked(world, {"good.example": [None, scoped("session")]}, command, command,
                  ["exec/wait", {"processId": "1000", "until": {"pattern": "hello"}}],
                  ["exec/wait", {"processId": "1001"}], leaves=True)
    equal(facts.withdrawn, [facts.questions[0]["approvalId"]], facts.all)
    equal(facts.output.splitlines(), ["hello from " + FAR] * 2, facts.all)


@hosts_test
def a_question_without_an_answer_in_time_is_refused(world):
    settings = {"confinement": {"networkByHost": True}, "approvalPolicy": "on-request", "approvalTimeoutMs": 300,
                "workspaceRoots": ["file://" + world.directory]}
    script = 'show(said("good.example", timeout=None)); show(said("good.example", timeout=None))'
    facts = asked(world, {"*": None}, script, settings=settings)
    equal((facts.lines(), len(facts.questions)), (["ECONNREFUSED"] * 2, 1), facts.all)
    check("nobody answered the question in time" in facts.denials()[0]["rule"], facts.denials())


@hosts_test
def a_command_that_fails_without_its_host_is_not_asked_about_again(world):
    for policy in ("on-request", "untrusted"):
        answers = {"good.example": NO, "*": ONCE}  # the command itself has no host
        facts = asked(world, answers, 'show(said("good.example")); sys.exit(1)', policy=policy)
        kinds = [question["kind"] for question in facts.questions]
        equal(kinds, ["command"] * (policy == "untrusted") + ["network"], facts.all)


@hosts_test
def a_denial_for_the_session_is_not_asked_about_again(world):
    script = 'show(said("good.example"))'
    facts = asked(world, {"good.example": {"decision": "denied", "scope": "session"}}, script, script)
    equal((facts.lines(), len(facts.questions)), (["ECONNREFUSED"] * 2, 1), facts.all)
    check("approvals revoke" in facts.denials()[1]["rule"], facts.denials())


@hosts_test
def what_is_observed_reaches_public_hosts_and_is_in_the_audit(world):
    world.rules('[[network]]\nhost = "other.example"\ndecision = "forbidden"\n')
    script = 'show(said("good.example", 80)); show(said("%s")); show(said("other.example")); ' % FAR
    script += 'show(said("private.example")); show(said("10.77.0.1")); show(said("2001:db8::5", family=socket.AF_INET6))'
    done = world.python(script, options=["--network=observe"])
    equal(
        done.lines(),
        ["hello from " + FAR] * 2 + ["ECONNREFUSED", "ECONNRESET", "ECONNRESET", "hello from 2001:db8::5"],
        done.errors,
    )
    rows = world.plain([world.scene.command[0], "audit", "network", "--by-host"]).text
    check("good.example:80: 1 connections" in rows and FAR + ":443" in rows, rows)


@hosts_test
def hosts_can_be_asked_for_before_the_command_starts(world):
    script = 'show(said("good.example")); show(said("good.example", 80)); show(said("other.example"))'
    command = {
        "argv": [PYTHON, "-c", TOOLS + script],
        "workdir": world.directory,
        "yieldTimeMs": 30000,
        "sandboxPermissions": "withAdditionalPermissions",
        "additionalPermissions": {"network": {"hosts": ["GOOD.example:443"]}},
    }
    for by_host in (True, False):
        settings = {"confinement": {"networkByHost": by_host}, "approvalPolicy": "on-request",
                    "workspaceRoots": ["file://" + world.directory]}
        facts = asked(world, {"*": [ONCE, NO, NO]}, command, settings=settings)
        equal(facts.lines(), ["hello from " + FAR, "ECONNREFUSED", "ECONNREFUSED"], facts.all)
        equal([one["kind"] for one in facts.questions], ["permissions", "network", "network"], facts.all)
        check("It may connect to good.example:443." in facts.questions[0]["display"]["notes"], facts.questions[0])
    command["additionalPermissions"]["network"]["hosts"] = ["*"]
    facts = asked(world, {}, command)
    check("additionalPermissions.network.hosts[0]" in facts.all and not facts.questions, facts.all)


if __name__ == "__main__":
    main()

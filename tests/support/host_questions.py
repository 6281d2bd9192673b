"""A client that is asked about hosts, for tests of the network by host."""

import json

from support.client import PYTHON, check
from support.host_worlds import TOOLS

# A client that is asked. It runs the commands of its order one after the other, and answers each question as the
# order says for its host; "later" is an answer that comes after the text `until` in the output of the command.
ASKED = r"""
import base64, json, subprocess, sys
server, order = sys.argv[1], json.loads(sys.argv[2])
child = subprocess.Popen([server, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
facts = {"questions": [], "withdrawn": [], "results": [], "output": "", "ends": [], "lists": [],
         "closed": [], "policy": [], "policy_ids": []}
later = {}

def send(message):
    child.stdin.write(json.dumps(message) + "\n")
    child.stdin.flush()

def on_question(message):
    params = message["params"]
    facts["questions"].append(params)
    target = params.get("network") or {}
    answers = order["answers"].get(target.get("host"), order["answers"].get("*"))
    answer = answers.pop(0) if isinstance(answers, list) else answers
    if answer is None:
        return
    if "until" in answer:
        later[message["id"]] = answer
    else:
        send({"id": message["id"], "result": answer})

def look():
    for name, answer in list(later.items()):
        if answer["until"] in facts["output"]:
            del later[name]
            send({"id": name, "result": {k: v for k, v in answer.items() if k != "until"}})

def take(message):
    method, params = message.get("method"), message.get("params")
    if method == "approval/request":
        on_question(message)
    elif method == "network/policyRequest":
        facts["policy"].append(params)
        facts["policy_ids"].append(message["id"])
        send({"id": message["id"], "result": {"decision": order["answers"][params["request"]["host"]]}})
    elif method == "$/cancelRequest":
        facts["withdrawn"].append(params["id"])
    elif method == "exec/outputDelta":
        facts["output"] += message["params"]["delta"]
    elif method == "process/output":
        facts["output"] += base64.b64decode(params["chunk"]).decode()
    elif method in ("exec/end", "process/exited"):
        facts["ends"].append(params)
    elif method == "process/closed":
        facts["closed"].append(params["processId"])
    look()

def answer_to(number):
    for line in child.stdout:
        message = json.loads(line)
        if message.get("id") == number and "method" not in message:
            return message
        take(message)

number = 0

def ask(method, params):
    global number
    number += 1
    send({"id": number, "method": method, "params": params})
    return answer_to(number)

ask("initialize", {"clientName": "test", "capabilities": {"approvals": order.get("asks", True)},
                   "settings": order["settings"]})
send({"method": "initialized", "params": {}})
for step in order["steps"]:
    if isinstance(step, list):  # any method
        facts["lists"].append(ask(*step))
        continue
    if "processId" in step:
        started = ask("process/start", step)
        facts["results"].append(started.get("result", started))
        while "result" in started and step["processId"] not in facts["closed"] and not order.get("leaves"):
            take(json.loads(child.stdout.readline()))
        continue
    result = ask("exec/command", step)
    while result.get("result", {}).get("state") == "running" and not order.get("leaves"):
        result = ask("exec/wait", {"processId": result["result"]["processId"]})
    facts["results"].append(result.get("result", result))
child.stdin.close()
child.wait()
print(json.dumps(facts))
"""

ONCE = {"decision": "approved"}
NO = {"decision": "denied"}


def scoped(scope):
    return {"decision": "approvedForSession", "scope": scope}


class Facts:
    def __init__(self, done):
        check(done.status == 0 and done.text, done.text + done.errors)
        for name, value in json.loads(done.text.splitlines()[-1]).items():
            setattr(self, name, value)
        self.visits, self.queries, self.all = done.visits, done.queries, done.text

    def lines(self):
        return "".join(result.get("output", "") for result in self.results).splitlines()

    def hosts(self):
        return ["%s:%d" % (one["network"]["host"], one["network"]["port"]) for one in self.questions]

    def denials(self):
        return [denial for result in [*self.results, *self.ends] for denial in result.get("denials", [])]


def asked(world, answers, *scripts, policy="on-request", **more):
    steps = [
        script
        if not isinstance(script, str)
        else {"argv": [PYTHON, "-c", TOOLS + script], "workdir": world.directory, "yieldTimeMs": 30000}
        for script in scripts
    ]
    order = {
        "answers": answers,
        "settings": {
            "confinement": {"networkByHost": True},
            "approvalPolicy": policy,
            "workspaceRoots": ["file://" + world.directory],
        },
        "steps": steps,
        **more,
    }
    return Facts(world.plain([PYTHON, "-c", ASKED, world.scene.command[0], json.dumps(order)]))

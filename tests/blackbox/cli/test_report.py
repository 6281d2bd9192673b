"""execward report: what is on the page, and that nothing of others can run in it."""

import base64
import hashlib
import html.parser
import os
import re
import shutil
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.audits import Desk
from support.client import PATIENCE, check, equal, within
from support.exec import NOWHERE, Home, exec_server
from support.runner import main, test

CHROMIUM = shutil.which("chromium")
MARK = "document.documentElement.dataset.ran=1"
HOSTILE = [
    "<script>%s</script>" % MARK,
    "</script><script>%s</script>" % MARK,
    "</style></title></textarea></code></pre><script>%s</script>" % MARK,
    "<img src=x onerror=%s>" % MARK,
    "<svg/onload=%s>" % MARK,
    "\"><img src=x onerror=%s>" % MARK,
    "'><svg onload=%s>" % MARK,
    "<details open ontoggle=%s>" % MARK,
    "javascript:%s" % MARK,
    "<a href='javascript:%s'>x</a>" % MARK,
    "<iframe srcdoc='<script>parent.%s</script>'>" % MARK,
    "<meta http-equiv=refresh content='0;url=data:text/html,x'>",
    "<base href=//192.0.2.1/>",
    "<link rel=stylesheet href=//192.0.2.1/x.css>",
    "--><!--<script>%s</script>" % MARK,
    "]]><script>%s</script>" % MARK,
    "&lt;script&gt;&#60;script&#62;",
    "{{script}}{{body}}",
    "\u202etxt.exe\u2066\u200b",
    "\x1b]0;title\x07\x1b[2J",
    "\x00\x01\x7f",
    "a\nb\r\nc",
]
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "b", "code", "pre",
    "label", "input", "form", "output", "div", "section", "ul", "li", "span", "main",
    "details", "summary", "svg", "rect", "dl", "dt", "dd", "script",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "type", "checked", "role", "hidden",
    "aria-label", "aria-hidden", "placeholder", "for", "x", "width", "height",
}  # fmt: skip


class Page(html.parser.HTMLParser):
    """What a browser makes of the page, as far as this test asks."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self.policy = {}, set(), {}, ""
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attributes}
        values = dict(attributes)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag == "rect":
            return
        check(self.open and self.open[-1] == tag, "%s ends inside %s" % (tag, self.open[-3:]))
        self.open.pop()

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, text):
        inside = self.open[-1] if self.open else ""
        self.texts[inside] = self.texts.get(inside, "") + text


def report(desk, *arguments):
    return desk.good("report", *arguments)


def text_of(page):
    """Returns the words of the body, without markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.split("<body>")[1]))


def browsed(scene, url, *flags):
    """Returns what a browser without a window prints about a page."""
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", *flags,
         "--user-data-dir=" + scene.path("browser"), url],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3 * PATIENCE,
        env={**os.environ, "HOME": scene.directory},
    )  # fmt: skip
    equal(done.returncode, 0, "status of the browser, " + done.stderr[-300:])
    return done.stdout


def browser_test(function):
    """Marks a test that is skipped without a browser."""
    if CHROMIUM is None:
        print("SKIP %s: no chromium on this machine" % function.__name__)
        return function
    return test(function)


def hostile_rows(desk):
    rows = []
    for i, text in enumerate(HOSTILE):
        same = {"session": text, "call": str(i), "directory": "/" + text, "rule": text}
        rows += desk.command_rows(["echo", text], "approved", **same)
        rows += desk.command_rows([text], "denied", **same)
        rows += desk.command_rows(["bash", "-c", text], None, 1, **same)
        last = {**same, "call": rows[-1]["call"]}
        rows += [
            {**last, "event": "denial", "decision": "1", "detail": "process 1: 1 refused: open /" + text},
            {**last, "event": "network", "decision": text, "detail": text},
            {**last, "event": "failure", "decided_by": text, "detail": text},
            {"event": "dropped", "detail": text},
        ]
    return rows


@test
def a_real_session_is_on_the_page(scene):
    home = Home(scene)
    server = exec_server(
        scene,
        home=home,
        policy="untrusted",
        sandbox="workspace-write",
        answer=lambda q: {"decision": "denied" if "never" in q["display"]["command"] else "approved"},
    )
    server.exec("ls")
    server.exec("mkdir -p a && echo x > a/b")
    server.exec_refused("touch never", kind="denied")
    server.exec(NOWHERE + "; exit 1")
    server.exec("kill -9 $$")
    session = server.initialized["sessionId"]
    server.end()
    desk = Desk(scene, home)
    target = os.path.join(home.path, "report.html")
    report(desk, "-o", target, session[:12])
    equal(stat.S_IMODE(os.stat(target).st_mode), 0o600, "mode of the file")
    with open(target, encoding="utf-8") as file:
        page = file.read()
    text = text_of(page).lower()
    for words in (
        "1 ran unasked", "1 allowed by a person", "1 denied", "1 sandbox refused", "1 killed", "sigkill",
        "session " + session, "mkdir -p a", "writes a/b", "a person answered denied after",
        "1 by the sandbox connect 192.0.2.1:9", "would have been allowed by", "sandbox: linuxseccomp",
    ):  # fmt: skip
        check(words.lower() in text, "%s is not on the page: %s" % (words, text))
    equal(re.findall(r"(?:src|href|url)\s*[=(]", page), [], "references")


@test
def nothing_of_others_gets_into_the_markup(scene):
    desk = Desk(scene)
    desk.add_rows(hostile_rows(desk))
    desk.good("approvals", "grant", "--scope=always", "--reason=<b>", "--", "git", "add", "<b>'\"")
    page = Page(report(desk))
    equal(set(page.tags) - TAGS, set(), "tags of others")
    equal(page.attributes - ATTRIBUTES, set(), "attributes of others")
    equal((page.tags["script"], page.tags["style"], page.tags["meta"]), (1, 1, 5), "scripts and styles")
    equal(page.tags["details"], 3 * len(HOSTILE), "commands")
    equal(page.open, [], "elements that did not end")
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        digest = base64.b64encode(hashlib.sha256(page.texts[tag].encode()).digest()).decode()
        check("%s 'sha256-%s'" % (name, digest) in page.policy, page.policy)
    check(page.policy.startswith("default-src 'none'"), page.policy)
    check("unsafe" not in page.policy, page.policy)


@browser_test
def nothing_of_others_runs_in_a_browser(scene):
    desk = Desk(scene)
    desk.add_rows(hostile_rows(desk))
    target = scene.path("report.html")
    report(desk, "-o", target)
    shown = browsed(scene, "file://" + target, "--dump-dom", "--virtual-time-budget=2000")
    check("data-ran" not in shown.split("<head>")[0], shown[:300])
    equal(len(re.findall(r"<details", shown)), 3 * len(HOSTILE), "commands")
    check('<form class="search" role="search">' in shown, "the page's own script did not run")


@browser_test
def the_policy_keeps_out_what_would_get_through(scene):
    desk = Desk(scene)
    desk.add_rows(desk.command_rows(["true"]))
    added = "<main><script>%s</script><img src=x onerror='%s'>" % (MARK, MARK)
    page = report(desk).replace("<main>", added)
    target = scene.path("broken.html")
    for text, runs in ((page, False), (page.replace("Content-Security-Policy", "none"), True)):
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        shown = browsed(scene, "file://" + target, "--dump-dom", "--virtual-time-budget=2000")
        equal("data-ran" in shown.split("<head>")[0], runs, "a script of others ran")


@browser_test
def a_page_of_ten_thousand_commands_is_small_and_opens(scene):
    desk = Desk(scene)
    rows = []
    for i in range(10_000):
        argv = ["bash", "-c", "cd src/part%d && make -j4 check | tail -n 20; git status --short" % i]
        rows += desk.command_rows(argv, "approved" if i % 3 == 0 else None, i % 7, at=desk.now + 400 * i - 4_000_000)
    desk.add_rows(rows)
    target = scene.path("report.html")
    report(desk, "-o", target)
    check(os.path.getsize(target) < 20 << 20, "%d bytes" % os.path.getsize(target))
    shown = browsed(scene, "file://" + target, "--dump-dom")
    check("part9999" in shown and "part0 " in shown, "the page is not whole")


@test
def rules_and_approvals_that_nothing_used_are_told(scene):
    desk = Desk(scene)
    path = desk.user_rules(
        '[[rule]]\nprefix = ["npm", "test"]\ndecision = "allow"\n'
        '[[rule]]\nprefix = ["make"]\ndecision = "prompt"\n'
    )
    desk.add_rows(desk.command_rows(["make", "all"], "approved"))
    desk.good("approvals", "grant", "--scope=project", "--", "git", "fetch")
    text = text_of(report(desk))
    check("npm test %s:1" % path in text, text)
    check("%s:4" % path not in text.split("Session")[0], text)
    check("git fetch grant 1, since" in text, text)


@test
def rules_that_would_have_saved_questions_are_told(scene):
    desk = Desk(scene)
    desk.add_rows(
        [row for i in range(3) for row in desk.command_rows(["make", "-j%d" % i], "approved")]
        + [row for _ in range(2) for row in desk.command_rows(["./deploy.sh"], "approved")]
    )
    text = text_of(report(desk))
    check("make : 3 questions, 3 command lines" in text, text)
    check("./deploy.sh : 2 questions" in text, text)


@test
def a_session_and_a_time_select_commands(scene):
    desk = Desk(scene)
    desk.add_rows(
        desk.command_rows(["echo", "old"], at=desk.now - 3 * 86_400_000, session="aa-1")
        + desk.command_rows(["echo", "new"], session="aa-2")
        + desk.command_rows(["echo", "run"], session="b", call="run")
    )
    page = text_of(report(desk))
    check("echo new" in page and "echo old" not in page and "execward run 1 command" in page, page)
    check("echo old" in report(desk, "--since=1w"), "a week")
    check("echo old" in report(desk, "aa-1"), "a session")
    check("echo new" not in report(desk, "aa-1"), "another session")
    for arguments, status, words in (
        (("aa",), 1, "2 sessions begin with 'aa'"),
        (("zz",), 1, "no session 'zz'"),
        (("--since=soon",), 2, "--since takes"),
        (("-o", scene.path("no/where.html")), 1, "cannot write"),
    ):
        done = desk.run("report", *arguments)
        equal(done.returncode, status, "status of %s" % (arguments,))
        check(words in done.stderr, done.stderr)


@test
def a_recording_is_shown_as_a_picture_and_as_text(scene):
    path = scene.path("session.transcript")
    server = scene.server("--record", path)
    server.start_shell("a", "printf '<script>%s</script>'" % MARK, tty=True, size={"rows": 3, "cols": 90})
    server.wait_closed("a")
    text = report(Desk(scene), "--recording", path)
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"', text)
    check(b"&lt;script&gt;" in base64.b64decode(picture), "the picture")
    check("The last screen of process a" in text, "the caption")
    check("<pre>&lt;script&gt;%s&lt;/script&gt;\n</pre>" % MARK in text, "the text")


@test
def an_audit_without_commands_makes_a_page_that_says_so(scene):
    check("no command for this" in report(Desk(scene)), "the page")


main()

#!/usr/bin/env python3
"""A client of execward in one file: Python 3.9 or newer, standard library only. Copy it.

    with Execward(on_approval=ask_the_person) as server:
        ended = server.command("make test", on_output=print).wait()
        print(ended.exit_code, ended.output)

Messages are lines of JSON. Three threads serve the server's pipes, so that neither side ever waits
for the other: one reads answers and events, one writes, one keeps the last of stderr. Each question
has a thread of its own, for a person may take as long as it needs.

Run as a program, it plays the scene that all examples play: it runs a command and prints the output
as it comes, answers a question, types into a terminal, and ends the server.

usage: execward_client.py [SERVER COMMAND...]        (default: execward serve)
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import itertools
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any, Callable, Deque, Dict, List, Mapping, Optional, Sequence, Set, TypeVar

T = TypeVar("T")
Params = Dict[str, Any]
OnOutput = Callable[[str], None]  # gets a piece of text
OnEvent = Callable[[str, Params], None]  # gets method and params of a notification
OnApproval = Callable[["Question"], Optional["Choice"]]  # None: it must not run

log = logging.getLogger("execward")


class ExecwardError(Exception):
    """What this client raises; one of the two below."""


class RequestFailed(ExecwardError):
    """The server answered with an error. `kind` and `code` are for programs, the rest for people."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        data = error.get("data") or {}
        self.method = method
        self.code: int = error.get("code", 0)
        self.kind: str = data.get("kind", "")
        self.hint: Optional[str] = data.get("hint")
        self.data: Mapping[str, Any] = data
        hint = f" ({self.hint})" if self.hint else ""
        super().__init__(f"{method}: {error.get('message', 'unknown error')}{hint}")


class ServerGone(ExecwardError):
    """There is no server any more. Says why, and what it said last on stderr."""

    def __init__(self, reason: str, status: Optional[int] = None, stderr: str = "") -> None:
        self.reason, self.status, self.stderr = reason, status, stderr
        super().__init__(f"{reason}; it said:\n{stderr}" if stderr else reason)


@dataclass(frozen=True)
class Choice:
    """An answer that may be given. With dataclasses.replace, add a reason or an end of it, and to
    the decision "edited" the command that is to run instead: without one it is a denial.
    """

    decision: str
    description: str = ""
    scope: Optional[str] = None
    reason: Optional[str] = None
    expires_in_ms: Optional[int] = None
    command: Optional[str] = None

    def as_answer(self) -> Params:
        members = {"scope": self.scope, "reason": self.reason, "expiresInMs": self.expires_in_ms,
                   "command": self.command}
        given = {name: value for name, value in members.items() if value is not None}
        return {"decision": self.decision, **given}


DENIED = Choice("denied", "do not run it")


@dataclass(frozen=True)
class Question:
    """May this run? Show `lines()`: only these texts are safe on a terminal."""

    params: Params
    withdrawn: threading.Event = field(default_factory=threading.Event)  # nobody needs the answer

    def lines(self) -> List[str]:
        display = self.params["display"]
        lines = [f"question: {display['command']}", f"  in {display['workdir']}",
                 f"  because {display['reason']}"]
        if display.get("justification"):
            lines.append(f"  the caller says: {display['justification']}")
        if display.get("stdin"):
            lines.append(f"  its input: {display['stdin']}")
        if display.get("environment"):
            lines.append(f"  with the variables {', '.join(display['environment'])}")
        lines += [f"  note: {note}" for note in display["notes"]]
        if display["hasInvisibleCharacters"] or display["hasMixedScripts"]:
            lines.append("  WARNING: it has characters that are easily mistaken")
        return lines

    def choices(self) -> List[Choice]:
        return [Choice(offered["decision"], offered["description"], offered.get("scope"))
                for offered in self.params["availableDecisions"]]

    def choose(self, decision: str, scope: Optional[str] = None) -> Choice:
        """The choice of that name, or the denial if it is not offered."""
        wanted = (decision, scope)
        return next((c for c in self.choices() if (c.decision, c.scope) == wanted), DENIED)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    output: str
    details: Params  # of exec/end; of the answer if the program could not be started


class Reply(concurrent.futures.Future[Any]):
    """The answer of a request that is under way: its result, or a raised ExecwardError."""

    def __init__(self, number: int, method: str) -> None:
        super().__init__()
        self.number, self.method = number, method
        self.set_running_or_notify_cancel()  # only the server ends it: see Execward.cancel


class Command:
    """A call of exec/command. It is over when it is answered and each program that it began has ended.

    Both matter: the answer can come before the last output, and it comes long before the end if the
    program still runs after yieldTimeMs. A second attempt, outside the sandbox, is a second program.
    """

    def __init__(self, server: Execward, call_id: str, reply: Reply,
                 on_output: Optional[OnOutput]) -> None:
        self.call_id = call_id
        self.reply = reply  # what exec/command answers
        self._server, self._on_output = server, on_output
        self._running: Set[str] = set()
        self._last_end: Optional[Params] = None
        self._end: concurrent.futures.Future[Ended] = concurrent.futures.Future()
        reply.add_done_callback(self._end_if_over)

    def wait(self, timeout: Optional[float] = None) -> Ended:
        """Waits for the end, however long. Raises RequestFailed if it may not run (kind `denied`)."""
        self._server._forbid_in_callbacks()
        return _result_within(self._end, timeout, f"the end of call {self.call_id}")

    def type(self, text: str, **params: Any) -> Params:
        """Types into its terminal. Returns what exec/writeStdin answers."""
        process_id = self._server.wait_for(self.reply).get("processId")
        if process_id is None:
            raise ExecwardError(f"call {self.call_id} has ended already")
        params = {"processId": process_id, "chars": text, **params}
        answer: Params = self._server.call("exec/writeStdin", **params)
        return answer

    # The rest runs in the reader's thread.

    def _take(self, method: str, params: Params) -> None:
        if method == "exec/begin":
            self._running.add(params["processId"])
        elif method == "exec/outputDelta" and self._on_output:
            self._on_output(params["delta"])
        elif method == "exec/end":
            self._running.discard(params["processId"])
            self._last_end = params
            self._end_if_over()

    def _end_if_over(self, _: object = None) -> None:
        if not self.reply.done() or self._end.done():
            return
        problem = self.reply.exception()
        if problem:
            self._end.set_exception(problem)
        elif not self._running:
            details = self._last_end or self.reply.result()
            output = details.get("aggregatedOutput", details.get("output", ""))
            self._end.set_result(Ended(details["exitCode"], output, details))
        if self._end.done():
            self._server._forget(self)


def _result_within(future: concurrent.futures.Future[T], timeout: Optional[float], what: str) -> T:
    try:
        return future.result(timeout)
    except concurrent.futures.TimeoutError:  # another class than TimeoutError before Python 3.11
        raise TimeoutError(f"{what} did not come within {timeout:g} s") from None


class Execward:
    """A server of one's own, from its start to its end. All methods may be called from any thread.

    on_approval  answers questions, each in a thread of its own. One that raises denies.
                 Without it, what would need a question is refused by the server.
    on_event     gets every notification, in order. It and on_output of a command run in the thread
                 that reads: while they work, nothing else is read, and they must not wait for answers.
    settings     of the session, such as {"approvalPolicy": "untrusted"}.
    """

    def __init__(self, command: Sequence[str] = ("execward", "serve"), *, name: str = "python-client",
                 on_approval: Optional[OnApproval] = None, on_event: Optional[OnEvent] = None,
                 settings: Optional[Params] = None, **popen: Any) -> None:
        self._on_approval, self._on_event = on_approval, on_event
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()  # of the next four
        self._replies: Dict[Any, Reply] = {}
        self._commands: Dict[str, Command] = {}
        self._questions: Dict[Any, Question] = {}
        self._gone: Optional[ServerGone] = None
        self._outgoing: queue.SimpleQueue[Optional[bytes]] = queue.SimpleQueue()
        self._stderr_tail: Deque[bytes] = collections.deque(maxlen=50)
        # A session of its own: Ctrl-C at our terminal is for us, and we end the server in order.
        options: Dict[str, Any] = {"start_new_session": True, **popen}
        self.process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)
        self._stderr_thread = self._start_thread(self._drain_stderr, self.process.stderr)
        self._writer = self._start_thread(self._write_all, self.process.stdin)
        self._reader = self._start_thread(self._read_all, self.process.stdout)
        try:
            self.info: Params = self.call(
                "initialize", clientName=name, processId=os.getpid(), settings=settings,
                capabilities={"approvals": on_approval is not None, "extensions": True})
            self.notify("initialized")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Execward:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a client does

    def command(self, script: str, *, on_output: Optional[OnOutput] = None, **params: Any) -> Command:
        """Starts a script for the shell; returns at once. `params` are those of exec/command."""
        reply = Reply(next(self._numbers), "exec/command")
        command = Command(self, f"call-{reply.number}", reply, on_output)
        with self._lock:
            self._commands[command.call_id] = command
        self._send_request(reply, {"command": script, "callId": command.call_id, **params})
        return command

    def call(self, method: str, timeout: Optional[float] = None, **params: Any) -> Any:
        """Sends a request and waits for its result. After `timeout` seconds it is cancelled."""
        return self.wait_for(self.request(method, **params), timeout)

    def request(self, method: str, **params: Any) -> Reply:
        """Sends a request and does not wait. Answers come in any order."""
        reply = Reply(next(self._numbers), method)
        self._send_request(reply, params)
        return reply

    def wait_for(self, reply: Reply, timeout: Optional[float] = None) -> Any:
        self._forbid_in_callbacks()
        try:
            return _result_within(reply, timeout, f"the answer of {reply.method}")
        except TimeoutError:
            self.cancel(reply)
            raise

    def cancel(self, reply: Reply) -> None:
        """Ends the waiting of a request. It is still answered: as a rule with the kind `cancelled`."""
        self.notify("$/cancelRequest", id=reply.number)

    def notify(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def close(self, timeout: float = 5) -> int:
        """Ends the server, and with it all that it runs. Returns its exit status; 0 is in order.

        Takes no longer than `timeout` and a moment, whatever the server does.
        """
        deadline = time.monotonic() + timeout
        with contextlib.suppress(ExecwardError, TimeoutError):
            self.call("shutdown", timeout=timeout / 2)
            self.notify("exit")
        self._outgoing.put(None)
        try:
            status = self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        # Something that it started could hold the pipes open, so these are not waited for forever.
        for thread in (self._reader, self._writer, self._stderr_thread):
            if thread is not threading.current_thread():
                thread.join(1)
        self._fail_everything(ServerGone("the server was closed", status))
        return status

    # Sending

    def _send_request(self, reply: Reply, params: Params) -> None:
        with self._lock:
            gone = self._gone
            if not gone:
                self._replies[reply.number] = reply
        if gone:
            reply.set_exception(gone)
        else:
            self._send({"id": reply.number, "method": reply.method, "params": params})

    def _send(self, message: Params) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        self._outgoing.put(text.encode() + b"\n")

    def _write_all(self, stdin: IO[bytes]) -> None:
        """Only this thread writes, so that a server which does not read holds up nobody else."""
        with contextlib.suppress(OSError):  # it is gone; the reader finds out and tells
            for line in iter(self._outgoing.get, None):
                stdin.write(line)
                stdin.flush()
        with contextlib.suppress(OSError):
            stdin.close()

    def _forbid_in_callbacks(self) -> None:
        if threading.current_thread() is self._reader:
            raise RuntimeError("on_output and on_event cannot wait: the answer would not be read")

    # Receiving

    def _read_all(self, stdout: IO[bytes]) -> None:
        reason = "the server closed its output"
        try:
            with stdout:
                for line in stdout:
                    self._take(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"the server sent what is no message ({error})"
        self._outgoing.put(None)  # the end of its input ends it, if it is not gone yet
        with contextlib.suppress(subprocess.TimeoutExpired):
            reason += f"; it ended with status {self.process.wait(2)}"
        self._stderr_thread.join(1)
        self._fail_everything(ServerGone(reason, self.process.returncode, self.stderr_tail()))

    def _take(self, message: Params) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self._take_answer(message)
        elif "id" in message:
            self._take_request(message["id"], method, params)
        elif method == "$/cancelRequest":
            with self._lock:
                question = self._questions.pop(params["id"], None)
            if question:
                question.withdrawn.set()
        else:
            self._take_event(method, params)

    def _take_answer(self, message: Params) -> None:
        with self._lock:
            reply = self._replies.pop(message.get("id"), None)
        if reply is None:
            log.warning("an answer to nothing: %.200s", message)
        elif "error" in message:
            reply.set_exception(RequestFailed(reply.method, message["error"]))
        else:
            reply.set_result(message["result"])

    def _take_event(self, method: str, params: Params) -> None:
        with self._lock:
            command = self._commands.get(params.get("callId", ""))
        for take in (command._take if command else None, self._on_event):
            try:
                if take:
                    take(method, params)
            except Exception:  # of a callback: its fault must not stop the reading
                log.exception("the callback for %s failed", method)

    def _take_request(self, request_id: Any, method: str, params: Params) -> None:
        if method != "approval/request":
            error = {"code": -32601, "message": f"this client has no method {method}"}
            self._send({"id": request_id, "error": error})
            return
        question = Question(params)
        with self._lock:
            self._questions[request_id] = question
        self._start_thread(self._ask, request_id, question)

    def _ask(self, request_id: Any, question: Question) -> None:
        choice = None
        try:
            choice = self._on_approval(question) if self._on_approval else None
            answer = (choice or DENIED).as_answer()
        except Exception:
            log.exception("on_approval failed, so it is denied")
            answer = DENIED.as_answer()
        with self._lock:
            is_open = self._questions.pop(request_id, None) is not None
        if is_open:
            self._send({"id": request_id, "result": answer})

    def _drain_stderr(self, stderr: IO[bytes]) -> None:
        with stderr:  # unread, it would fill up and stop the server
            for line in iter(lambda: stderr.readline(4096), b""):
                self._stderr_tail.append(line)

    def stderr_tail(self) -> str:
        return b"".join(list(self._stderr_tail)).decode("utf-8", "replace").rstrip()

    def _forget(self, command: Command) -> None:
        with self._lock:
            self._commands.pop(command.call_id, None)

    def _fail_everything(self, gone: ServerGone) -> None:
        with self._lock:
            self._gone = self._gone or gone
            replies, self._replies = list(self._replies.values()), {}
            commands, self._commands = list(self._commands.values()), {}
            questions, self._questions = list(self._questions.values()), {}
        for question in questions:
            question.withdrawn.set()
        for reply in replies:
            reply.set_exception(self._gone)
        for command in commands:
            if not command._end.done():
                command._end.set_exception(self._gone)

    @staticmethod
    def _start_thread(target: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        return thread


# The scene that all examples play


def show(text: str) -> None:
    print(text, end="", flush=True)


def approve(question: Question) -> Choice:
    """Shows a question. A real client lets a person choose; this one takes "run it this once"."""
    choice = question.choose("approved")
    show("\n".join([*question.lines(), f"answer: {choice.decision}\n"]))
    return choice


def main() -> int:
    server = Execward(sys.argv[1:] or ("execward", "serve"), on_approval=approve)
    with server:
        show(f"connected to {server.info['serverInfo']['name']}\n")

        show("1. output as it comes\n")
        script = 'mkdir -p execward-example; for n in 1 2 3; do echo "tick $n"; sleep 0.1; done'
        ended = server.command(script, on_output=show).wait()
        show(f"exit code {ended.exit_code}\n")

        show("2. a question\n")
        command = server.command("rm -rf execward-example", on_output=show,
                                 justification="The example is over.")
        show(f"exit code {command.wait().exit_code}\n")

        show("3. a terminal\n")
        script = "printf 'name? '; read -r name; echo \"hello, $name\""
        command = server.command(script, on_output=show, tty=True, quietMs=200)
        command.type("Ada\n")
        show(f"exit code {command.wait().exit_code}\n")

        status = server.close()
        show(f"the server ended with status {status}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())

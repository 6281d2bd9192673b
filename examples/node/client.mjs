#!/usr/bin/env node
// A client of execward for Node 18 or newer, without dependencies. Messages are lines of JSON.
//
// It plays the scene that all examples play: it runs a command and prints the output as it comes,
// answers a question, types into a terminal, and ends the server.
//
// usage: client.mjs [SERVER COMMAND...]        (default: execward serve)

import { spawn } from "node:child_process";

const show = (text) => process.stdout.write(text);

class Execward {
  /** `answer` gets the params of a question and returns, or promises, what to answer. */
  constructor([program, ...args], answer) {
    this.answer = answer;
    this.nextId = 1;
    this.replies = new Map(); // id -> { resolve, reject }
    this.calls = new Map(); // callId -> Call
    this.stderr = "";
    this.server = spawn(program, args, { stdio: "pipe" });
    this.ended = new Promise((resolve) => {
      this.server.on("error", (error) => resolve(error.message)); // it could not be started
      this.server.on("close", (status, signal) => resolve(status ?? signal));
    }).then((status) => this.failAll(status));
    this.server.stdin.on("error", () => {}); // it is gone; "close" tells
    this.server.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr = (this.stderr + text).slice(-4096); // unread, it would stop the server
    });
    // Not with node:readline: it also ends lines at U+2028, which may stand in JSON as it is.
    let unfinished = "";
    this.server.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (unfinished + text).split("\n");
      unfinished = lines.pop();
      for (const line of lines) this.take(JSON.parse(line));
    });
  }

  send(message) {
    this.server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  notify(method, params = {}) {
    this.send({ method, params });
  }

  request(method, params = {}) {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      if (this.gone) return reject(this.gone);
      this.replies.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  /** Starts a command. See Call for what can be awaited. */
  command(params, onOutput) {
    const callId = `call-${this.nextId}`;
    const call = new Call(this.request("exec/command", { ...params, callId }), onOutput);
    this.calls.set(callId, call);
    call.ended.finally(() => this.calls.delete(callId)).catch(() => {});
    return call;
  }

  take({ id, method, params, result, error }) {
    if (method === undefined) {
      const reply = this.replies.get(id);
      this.replies.delete(id);
      if (error) reply?.reject(Object.assign(new Error(error.message), { code: error.code }, error.data));
      else reply?.resolve(result);
    } else if (id === undefined) {
      this.calls.get(params.callId)?.take(method, params);
    } else {
      this.takeRequest(id, method, params);
    }
  }

  async takeRequest(id, method, params) {
    try {
      if (method !== "approval/request") throw new Error(`no method ${method}`);
      this.send({ id, result: await this.answer(params) });
    } catch (error) {
      // To a question, an error is a denial.
      this.send({ id, error: { code: -32603, message: error.message } });
    }
  }

  failAll(status) {
    this.gone = new Error(`the server ended: ${status}; it said: ${this.stderr}`);
    for (const { reject } of this.replies.values()) reject(this.gone);
    for (const call of this.calls.values()) call.fail(this.gone);
    return status;
  }

  /** Ends the server and all that it runs; returns its exit status. */
  async close() {
    await this.request("shutdown");
    this.notify("exit");
    this.server.stdin.end();
    return this.ended;
  }
}

/**
 * A call of exec/command. `answered` is its answer, which can come before the last output, and comes
 * before the end if the program is slow. `ended` is the last exec/end, or the answer if nothing ran.
 */
class Call {
  constructor(answered, onOutput) {
    this.answered = answered;
    this.onOutput = onOutput;
    this.running = new Set(); // a second attempt is a second program
    this.ended = new Promise((resolve, reject) => Object.assign(this, { resolve, fail: reject }));
    answered.then((answer) => this.endIfOver((this.answer = answer)), this.fail);
  }

  take(method, params) {
    if (method === "exec/begin") this.running.add(params.processId);
    if (method === "exec/outputDelta") this.onOutput(params.delta);
    if (method === "exec/end") {
      this.running.delete(params.processId);
      this.lastEnd = params;
      this.endIfOver();
    }
  }

  endIfOver() {
    if (this.answer && this.running.size === 0) this.resolve(this.lastEnd ?? this.answer);
  }
}

/** Shows a question. A real client lets a person choose; this one takes "run it this once". */
function approve({ display, availableDecisions }) {
  show(`question: ${display.command}\n  in ${display.workdir}\n  because ${display.reason}\n`);
  if (display.justification) show(`  the caller says: ${display.justification}\n`);
  for (const note of display.notes) show(`  note: ${note}\n`);
  if (display.hasInvisibleCharacters || display.hasMixedScripts)
    show("  WARNING: it has characters that are easily mistaken\n");
  const offered = availableDecisions.some(({ decision }) => decision === "approved");
  const decision = offered ? "approved" : "denied";
  show(`answer: ${decision}\n`);
  return { decision };
}

async function play(server) {
  const { serverInfo } = await server.request("initialize", {
    clientName: "node-example",
    processId: process.pid,
    capabilities: { approvals: true, extensions: true },
  });
  server.notify("initialized");
  show(`connected to ${serverInfo.name}\n`);

  show("1. output as it comes\n");
  const ticks = 'mkdir -p execward-example; for n in 1 2 3; do echo "tick $n"; sleep 0.1; done';
  const ticking = server.command({ command: ticks }, show);
  show(`exit code ${(await ticking.ended).exitCode}\n`);

  show("2. a question\n");
  const remove = { command: "rm -rf execward-example", justification: "The example is over." };
  const removing = server.command(remove, show);
  show(`exit code ${(await removing.ended).exitCode}\n`);

  show("3. a terminal\n");
  const greet = "printf 'name? '; read -r name; echo \"hello, $name\"";
  const greeting = server.command({ command: greet, tty: true, quietMs: 200 }, show);
  const { processId } = await greeting.answered;
  await server.request("exec/writeStdin", { processId, chars: "Ada\n" });
  show(`exit code ${(await greeting.ended).exitCode}\n`);

  const status = await server.close();
  show(`the server ended with status ${status}\n`);
  return status;
}

const command = process.argv.slice(2);
const server = new Execward(command.length ? command : ["execward", "serve"], approve);
try {
  process.exitCode = (await play(server)) === 0 ? 0 : 1;
} catch (error) {
  console.error(`${error.message} ${error.hint ?? ""}`);
  process.exitCode = 1;
  server.server.stdin.end(); // which ends it, too
}

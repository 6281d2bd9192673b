#!/usr/bin/env node
// A client of execward that uses vscode-jsonrpc, the library below the language clients of VS Code.
// Messages have Content-Length headers, or are lines with --lines.
//
// It plays the scene that all examples play: it runs a command and prints the output as it comes,
// answers a question, types into a terminal, and ends the server.
//
// usage: client.mjs [--lines] [SERVER COMMAND...]        (default: execward serve)

import { spawn } from "node:child_process";
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node";
import { LineMessageReader, LineMessageWriter } from "./lines.mjs";

const show = (text) => process.stdout.write(text);

/** Starts a server. `ended` resolves to its exit status, or to the reason why there is none. */
function start([program, ...args], withLines) {
  const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  server.stdin.on("error", () => {}); // it is gone; "close" tells
  const ended = new Promise((resolve) => {
    server.on("error", (error) => resolve(error.message));
    server.on("close", (status, signal) => resolve(status ?? signal));
  });
  const [Reader, Writer] = withLines
    ? [LineMessageReader, LineMessageWriter]
    : [StreamMessageReader, StreamMessageWriter];
  const connection = createMessageConnection(new Reader(server.stdout), new Writer(server.stdin));
  // Requests that wait for a server that is gone fail only when the connection is disposed of.
  connection.onClose(() => connection.dispose());
  connection.onError(([error]) => console.error(error.message));
  return { connection, ended, closeInput: () => server.stdin.end() };
}

/** Runs commands on a connection, and hands each its own events. */
class Commands {
  constructor(connection) {
    this.connection = connection;
    this.started = 0;
    this.listeners = new Map(); // callId -> function of method and params
    for (const method of ["exec/begin", "exec/outputDelta", "exec/end"])
      connection.onNotification(method, (params) => this.listeners.get(params.callId)?.(method, params));
  }

  /**
   * Starts one. `answered` is its answer, which can come before the last output, and comes before the
   * end if the program is slow. `ended` is the last exec/end, or the answer if nothing ran.
   */
  start(params, onOutput) {
    const callId = `call-${++this.started}`;
    const running = new Set(); // a second attempt is a second program
    let lastEnd, onEnd;
    this.listeners.set(callId, (method, event) => {
      if (method === "exec/begin") running.add(event.processId);
      if (method === "exec/outputDelta") onOutput(event.delta);
      if (method !== "exec/end") return;
      running.delete(event.processId);
      lastEnd = event;
      onEnd?.();
    });
    const answered = this.connection.sendRequest("exec/command", { ...params, callId });
    const untilEnd = async () => {
      const answer = await answered;
      while (running.size) await new Promise((resolve) => (onEnd = resolve));
      return lastEnd ?? answer;
    };
    const ended = untilEnd().finally(() => this.listeners.delete(callId));
    ended.catch(() => {}); // who awaits only the answer gets the same error there
    return { answered, ended };
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

async function play({ connection, ended }) {
  // Withdrawn questions need no code: the library turns $/cancelRequest into a cancelled token, the
  // second argument of the handler. A handler that throws denies.
  connection.onRequest("approval/request", approve);
  const commands = new Commands(connection);
  connection.listen();

  const { serverInfo } = await connection.sendRequest("initialize", {
    clientName: "vscode-jsonrpc-example",
    processId: process.pid,
    capabilities: { approvals: true, extensions: true },
  });
  await connection.sendNotification("initialized");
  show(`connected to ${serverInfo.name}\n`);

  show("1. output as it comes\n");
  const ticks = 'mkdir -p execward-example; for n in 1 2 3; do echo "tick $n"; sleep 0.1; done';
  show(`exit code ${(await commands.start({ command: ticks }, show).ended).exitCode}\n`);

  show("2. a question\n");
  const remove = { command: "rm -rf execward-example", justification: "The example is over." };
  show(`exit code ${(await commands.start(remove, show).ended).exitCode}\n`);

  show("3. a terminal\n");
  const greet = "printf 'name? '; read -r name; echo \"hello, $name\"";
  const greeting = commands.start({ command: greet, tty: true, quietMs: 200 }, show);
  const { processId } = await greeting.answered;
  await connection.sendRequest("exec/writeStdin", { processId, chars: "Ada\n" });
  show(`exit code ${(await greeting.ended).exitCode}\n`);

  await connection.sendRequest("shutdown");
  await connection.sendNotification("exit");
  const status = await ended;
  show(`the server ended with status ${status}\n`);
  return status;
}

const args = process.argv.slice(2);
const withLines = args[0] === "--lines";
if (withLines) args.shift();
const server = start(args.length ? args : ["execward", "serve"], withLines);
try {
  process.exitCode = (await play(server)) === 0 ? 0 : 1;
} catch (error) {
  console.error(`${error.message} ${error.data?.hint ?? ""}`);
  process.exitCode = 1;
  server.closeInput(); // which ends it, too
}

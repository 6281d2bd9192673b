#!/usr/bin/env node
// Checks recorded messages of `execward mcp` against the published types of the Model Context
// Protocol, as its own packages have them. Nothing of them is kept in this repository.
//
// usage: mcp_traffic.mjs CLIENTS FILE…
//
// CLIENTS has sdk1/node_modules with @modelcontextprotocol/sdk, for the versions with a handshake,
// and sdk2/node_modules with @modelcontextprotocol/core, for the one without. A FILE has one JSON
// object a line: {"dir": "c2s" or "s2c", "tap": the number of the server, "msg": the message}.
// The tests write such files into the directory that EXECWARD_MCP_RECORD names.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [clients, ...files] = process.argv.slice(2);
if (!files.length) {
  console.error("usage: mcp_traffic.mjs CLIENTS FILE…");
  process.exit(2);
}
const load = (path) => import(pathToFileURL(resolve(clients, path)));
const legacy = await load("sdk1/node_modules/@modelcontextprotocol/sdk/dist/esm/types.js");
const modern = await load("sdk2/node_modules/@modelcontextprotocol/core/dist/index.mjs");

const PREFIX = "io.modelcontextprotocol/";
const MODERN = "2026-07-28";
const RESULTS = {
  "initialize": "InitializeResultSchema",
  "server/discover": "DiscoverResultSchema",
  "ping": "EmptyResultSchema",
  "tools/list": "ListToolsResultSchema",
  "tools/call": "CallToolResultSchema",
  "resources/list": "ListResourcesResultSchema",
  "resources/templates/list": "ListResourceTemplatesResultSchema",
  "resources/read": "ReadResourceResultSchema",
  "resources/subscribe": "EmptyResultSchema",
  "resources/unsubscribe": "EmptyResultSchema",
};
const SENT = {
  "elicitation/create": "ElicitRequestSchema",
  "roots/list": "ListRootsRequestSchema",
  "notifications/progress": "ProgressNotificationSchema",
  "notifications/cancelled": "CancelledNotificationSchema",
  "notifications/resources/updated": "ResourceUpdatedNotificationSchema",
  "notifications/resources/list_changed": "ResourceListChangedNotificationSchema",
  "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotificationSchema",
};
const CACHEABLE = ["server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read"];

function mismatch(types, name, value) {
  if (!types[name]) return `no schema ${name}`;
  const parsed = types[name].safeParse(value);
  return parsed.success ? "" : JSON.stringify(parsed.error.issues).slice(0, 400);
}

function problemsOfModern(method, result) {
  const problems = [];
  if (!["complete", "input_required"].includes(result.resultType)) problems.push("resultType");
  if (!result._meta?.[PREFIX + "serverInfo"]?.name) problems.push("_meta serverInfo");
  if (CACHEABLE.includes(method)) {
    if (!(Number.isInteger(result.ttlMs) && result.ttlMs >= 0)) problems.push("ttlMs");
    if (!["public", "private"].includes(result.cacheScope)) problems.push("cacheScope");
  }
  if (result.resultType === "input_required") {
    if (typeof result.requestState !== "string") problems.push("requestState");
    for (const request of Object.values(result.inputRequests ?? {}))
      problems.push(mismatch(modern, "ElicitRequestSchema", request));
  } else {
    problems.push(mismatch(modern, RESULTS[method], result));
  }
  return problems;
}

function problemsOfAnswer(asked, message) {
  if (message.error) return [mismatch(legacy, "JSONRPCErrorSchema" in legacy ? "JSONRPCErrorSchema" : "JSONRPCErrorResponseSchema", { ...message, id: message.id ?? 0 })];
  if (!asked) return ["an answer to nothing"];
  if (asked.isModern) return problemsOfModern(asked.method, message.result);
  const problems = [mismatch(legacy, RESULTS[asked.method], message.result)];
  if ("resultType" in message.result) problems.push("resultType in a version with a handshake");
  return problems;
}

function problemsOfSent(message) {
  const name = SENT[message.method];
  if (!name) return [`an unexpected ${message.method}`];
  const isModern = message.params?._meta?.[PREFIX + "subscriptionId"] !== undefined;
  const problems = [mismatch(isModern ? modern : legacy, name, message)];
  if (isModern && "id" in message) problems.push("a request to a modern client");
  return problems;
}

let checked = 0;
let wrong = 0;
const seen = {};
for (const file of files) {
  const asked = new Map();
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const { dir, tap, msg } = JSON.parse(line);
    if (!msg || typeof msg !== "object") continue;
    const key = `${tap} ${JSON.stringify(msg.id)}`;
    if (dir === "c2s") {
      const version = msg.params?._meta?.[PREFIX + "protocolVersion"];
      if (msg.method && msg.id !== undefined) asked.set(key, { method: msg.method, isModern: version === MODERN });
      continue;
    }
    const what = msg.method ?? `answer to ${asked.get(key)?.method}${msg.error ? " (error)" : ""}`;
    const problems = msg.method ? problemsOfSent(msg) : problemsOfAnswer(asked.get(key), msg);
    if (msg.jsonrpc !== "2.0") problems.push("jsonrpc");
    ++checked;
    seen[what] = (seen[what] ?? 0) + 1;
    for (const problem of problems.filter(Boolean)) {
      ++wrong;
      console.log(`${file}: ${what}: ${problem}\n    ${JSON.stringify(msg).slice(0, 300)}`);
    }
  }
}
for (const [what, count] of Object.entries(seen).sort()) console.log(`# ${count} ${what}`);
console.log(`# ${checked} messages of the server, ${wrong} problems`);
process.exit(wrong ? 1 : 0);

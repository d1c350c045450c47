// The official TypeScript SDK as a client of the MCP server: one step after another, told as one line of JSON.
//
//     node typescript_client.mjs FOLDER SETTINGS
//
// FOLDER holds the SDK's node_modules; SETTINGS is JSON: {server: [program, ...words], env} or {url, token}, and {pid, answer}.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const require = createRequire(join(process.argv[2], "package.json"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
const settings = JSON.parse(process.argv[3]);

const told = { progress: [], asked: null };
const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler("elicitation/create", async (request) => {
  told.asked = request.params.message;
  return settings.answer;
});
const transport = settings.url
  ? new StreamableHTTPClientTransport(new URL(settings.url), {
      requestInit: { headers: { Authorization: `Bearer ${settings.token}` } },
    })
  : new StdioClientTransport({ command: settings.server[0], args: settings.server.slice(1), env: settings.env });
await client.connect(transport);

const alive = (pid) => {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].startsWith("Z");
  } catch {
    return false;
  }
};
const until = async (look) => {
  for (let waited = 0; waited < 4000; waited++) {
    if (look()) return true;
    await sleep(10);
  }
  return false;
};

told.tools = (await client.listTools()).tools.map((tool) => tool.name);
told.called = (await client.callTool({ name: "bench_rows", arguments: { query: "abc" } })).structuredContent;
told.invalid = (await client.callTool({ name: "bench_rows", arguments: { colour: "red" } })).structuredContent.code;
told.wiped = (await client.callTool({ name: "bench_wipe", arguments: { name: "x" } })).isError;

const abort = new AbortController();
const slow = client.callTool(
  { name: "bench_slow", arguments: {} },
  { signal: abort.signal, timeout: 100000, onprogress: (each) => told.progress.push([each.progress, each.total]) },
);
await until(() => existsSync(settings.pid) && readFileSync(settings.pid, "utf8") && told.progress.length > 1);
const pid = Number(readFileSync(settings.pid, "utf8"));
told.ran = alive(pid);
abort.abort("enough");
told.cancelled = await slow.then(() => false, () => true);
told.gone = await until(() => !alive(pid));
told.after = (await client.callTool({ name: "bench_rows", arguments: { query: "still here" } })).isError;
await client.close();
console.log(JSON.stringify(told));

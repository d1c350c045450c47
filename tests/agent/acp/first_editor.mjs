// An editor made with the official TypeScript SDK as it was in its first releases (0.4.5): prompts, is asked, cancels, loads.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [folder, given] = process.argv.slice(2);
const settings = JSON.parse(given);
const acp = await import(`${folder}/node_modules/@zed-industries/agent-client-protocol/dist/acp.js`);

async function connected(work) {
  const child = spawn(settings.command[0], settings.command.slice(1), {
    cwd: settings.cwd,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const told = { texts: "", asked: [], updates: [] };
  const client = {
    async requestPermission(params) {
      told.asked.push(params.toolCall.rawInput);
      const option = params.options.find((each) => each.kind === settings.answer);
      return { outcome: { outcome: "selected", optionId: option.optionId } };
    },
    async sessionUpdate({ update }) {
      told.updates.push(update.sessionUpdate);
      if (update.sessionUpdate === "agent_message_chunk") told.texts += update.content.text;
      told.waiting?.();
    },
  };
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const agent = new acp.ClientSideConnection(() => client, stream);
  told.hello = await agent.initialize({ protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  await work(agent, told);
  child.stdin.end();
  await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve()));
  return told;
}

const text = (prompt) => [{ type: "text", text: prompt }];
let session;
const first = await connected(async (agent, told) => {
  session = (await agent.newSession({ cwd: settings.cwd, mcpServers: [] })).sessionId;
  told.stop = (await agent.prompt({ sessionId: session, prompt: text(settings.asks) })).stopReason;
  const before = told.texts;
  const spoken = new Promise((resolve) => {
    told.waiting = () => told.texts !== before && resolve();
  });
  const running = agent.prompt({ sessionId: session, prompt: text(settings.hangs) });
  await spoken;
  await agent.cancel({ sessionId: session });
  told.cancelled = (await running).stopReason;
});
const second = await connected(async (agent) => {
  await agent.loadSession({ sessionId: session, cwd: settings.cwd, mcpServers: [] });
});
console.log(
  JSON.stringify({
    stop: first.stop,
    cancelled: first.cancelled,
    load: first.hello.agentCapabilities.loadSession,
    asked: first.asked,
    texts: first.texts,
    updates: first.updates,
    replayed: second.texts,
  }),
);

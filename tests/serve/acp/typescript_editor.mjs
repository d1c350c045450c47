// An editor made with the official TypeScript SDK: it opens a session, prompts, is asked, cancels, and loads it again.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [folder, given] = process.argv.slice(2);
const settings = JSON.parse(given);
const acp = await import(`${folder}/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js`);
const { agent, client: own } = acp.methods;

async function connected(work) {
  const child = spawn(settings.command[0], settings.command.slice(1), {
    cwd: settings.cwd,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const told = { texts: "", asked: [], updates: [] };
  const editor = acp
    .client({ name: "typescript" })
    .onRequest(own.session.requestPermission, ({ params }) => {
      told.asked.push(params.toolCall.rawInput);
      const option = params.options.find((each) => each.kind === settings.answer);
      return { outcome: { outcome: "selected", optionId: option.optionId } };
    })
    .onNotification(own.session.update, ({ params }) => {
      told.updates.push(params.update.sessionUpdate);
      if (params.update.sessionUpdate === "agent_message_chunk") told.texts += params.update.content.text;
      told.waiting?.();
    });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  await editor.connectWith(stream, async (context) => {
    told.hello = await context.request(agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
      clientInfo: { name: "typescript", version: "1" },
    });
    await work(context, told);
  });
  child.stdin.end();
  await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve()));
  return told;
}

const words = (text) => [{ type: "text", text }];
const result = {};
const first = await connected(async (context, told) => {
  const { sessionId } = await context.request(agent.session.new, { cwd: settings.cwd, mcpServers: [] });
  result.session = sessionId;
  result.stop = (await context.request(agent.session.prompt, { sessionId, prompt: words(settings.asks) })).stopReason;
  const begun = new Promise((resolve) => (told.waiting = resolve));
  const hanging = context.request(agent.session.prompt, { sessionId, prompt: words(settings.hangs) });
  await begun;
  await context.notify(agent.session.cancel, { sessionId });
  result.cancelled = (await hanging).stopReason;
});
const second = await connected(async (context, told) => {
  await context.request(agent.session.load, { sessionId: result.session, cwd: settings.cwd, mcpServers: [] });
  if (!told.hello.agentCapabilities.sessionCapabilities?.delete) return;
  const ids = async () => (await context.request(agent.session.list, {})).sessions.map((each) => each.sessionId);
  const before = await ids();
  await context.request(agent.session.delete, { sessionId: result.session });
  result.deleted = before.includes(result.session) && !(await ids()).includes(result.session);
});
console.log(
  JSON.stringify({
    ...result,
    asked: first.asked,
    updates: first.updates,
    texts: first.texts,
    replayed: second.texts,
    load: first.hello.agentCapabilities.loadSession,
  }),
);
process.exit(0);

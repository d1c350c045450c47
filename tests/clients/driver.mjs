// Does with the TypeScript client what the tests ask for: node driver.mjs INDEX_JS, one request a line on stdin.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const operable = await import(pathToFileURL(process.argv[2]).href);
const say = (value) => process.stdout.write(`${operable.stringify(value)}\n`);

const DO = {
  judge({ data, chunk, exitStatus, options }) {
    const bytes = Buffer.from(data, "base64");
    const reader = new operable.Reader(options);
    const events = [];
    for (let at = 0; at < bytes.length; at += chunk) events.push(...reader.feed(bytes.subarray(at, at + chunk)));
    events.push(...reader.close());
    return { verdict: reader.eof(exitStatus), events };
  },

  async collect({ argv, options }) {
    try {
      const { events, results, stderr, verdict } = await operable.collect(argv, options);
      return { events, results, stderr, verdict };
    } catch (error) {
      return { error: String(error.code ?? error.message) };
    }
  },

  async leave({ argv }) {
    const running = operable.call(argv);
    for await (const event of running) if (event.type === "ready") break;
    return { verdict: running.verdict };
  },

  async request({ url, token, method, path, body }) {
    try {
      return { answer: await new operable.Daemon(url, { token }).request(method, path, { body }) };
    } catch (error) {
      const { status = null, code = null, category = null, message } = error;
      return { refused: { status, code, category, message } };
    }
  },

  async follow({ url, token, session, until, after }) {
    const daemon = new operable.Daemon(url, { token });
    const found = [];
    for await (const message of daemon.session(session, after ? { after } : {})) {
      found.push({ ...message });
      if (message.event === until) break;
    }
    return { messages: found };
  },

  async messages({ data, chunk }) {
    const bytes = Buffer.from(data, "base64");
    async function* body() {
      for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
    }
    const found = [];
    for await (const message of operable.messages(body())) found.push({ ...message });
    return { messages: found };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  say({ id: request.id, ...(await DO[request.do](request)) });
}

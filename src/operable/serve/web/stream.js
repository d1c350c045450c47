// The one stream of everything that needs attention, and streams of single sessions. Both go on by cursor.

import { ApiError, data, get } from "./api.js";
import * as store from "./store.js";

let state = "trying";
let since = Date.now();
let cursor = data.cursor;
let wasOpen = false;
/** Changes that come while the lists are read, which are newer than these. @type {[string, any][] | null} */
let meanwhile = null;
let wait = 500;
const LONGEST_WAIT = 10_000;
const PAGE = 500;

/** on, trying, off (the daemon does not answer) or out (this browser is not logged in), and since when. */
export const connection = () => ({ state, since });

/** The lists that came with the frame; the sessions that did not fit into it follow. */
export function seed() {
  store.replace("sessions", data.sessions);
  store.replace("approvals", data.approvals);
  if (data.isPart) load().catch(() => undefined); // the stream and the next look bring them later
}

/** Follow the daemon from the cursor on. What the daemon no longer has is read anew. */
export function follow() {
  const source = new EventSource(`/events?after=${cursor}`);
  source.addEventListener("open", () => {
    wait = 500;
    become("on");
    // A daemon that was started anew does not say what became of the sessions and questions of the one before.
    if (wasOpen) load().catch(() => undefined); // the stream breaks with it, and is opened again
    wasOpen = true;
  });
  source.addEventListener("error", () => {
    become("trying");
    if (source.readyState === EventSource.CONNECTING) return; // the browser comes back by itself, with the last cursor
    source.close();
    setTimeout(restart, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  });
  source.addEventListener("session", (event) => took("sessions", event));
  source.addEventListener("approval", (event) => took("approvals", event));
  source.addEventListener("run", (event) => took("runs", event));
  source.addEventListener("gap", () => void load());
}

/** A stream that was refused says nothing of why; a request does. */
async function restart() {
  try {
    await get("/access");
  } catch (error) {
    become(/** @type {any} */ (error).status === 401 ? "out" : "off");
    setTimeout(restart, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
    return;
  }
  follow();
}

/** Read the lists themselves. */
export async function load() {
  meanwhile = [];
  try {
    const [approvals, answered] = await Promise.all([get("/approvals", { state: "waiting" }), get("/approvals", { state: "answered" })]);
    const sessions = await allSessions();
    store.replace("approvals", [...approvals.approvals, ...answered.approvals]);
    store.replace("sessions", sessions);
    for (const [name, item] of meanwhile || []) put(name, item);
    store.touch("runs");
  } finally {
    meanwhile = null;
  }
}

/** @returns {Promise<any[]>} */
async function allSessions() {
  const sessions = [];
  let next = "";
  do {
    const page = await get("/sessions", { limit: PAGE, cursor: next });
    sessions.push(...page.sessions);
    next = page.next_cursor || "";
  } while (next);
  return sessions;
}

/** @param {string} name @param {any} item */
function put(name, item) {
  if (item.forgotten) store.forget(name, item.id);
  else store.keep(name, item);
}

/** @param {string} name @param {Event} event */
function took(name, event) {
  const message = /** @type {MessageEvent} */ (event);
  if (message.lastEventId) cursor = Number(message.lastEventId);
  const item = JSON.parse(message.data);
  const before = name === "approvals" ? store.find(name, item.id) : null;
  // What one may have read is another question now; one that only got the files that it is for is the same.
  if (item.state === "waiting" && before?.arguments && before.digest !== item.digest) item.isChanged = true;
  meanwhile?.push([name, item]);
  put(name, item);
}

/** @param {string} to */
function become(to) {
  if (state === to) return;
  if (state === "on") since = Date.now();
  state = to;
  store.touch("connection");
}

const KINDS = [
  "text-delta", "thought", "tool-call", "tool-result", "agent-prompt", "turn-end", "error", "plan", "usage_update",
  "mode_change", "notice", "status", "gap",
];

/**
 * The typed events of one session from a cursor on.
 * @param {string} id @param {number} after
 * @param {(kind: string, data: any, cursor: number) => void} receive @param {() => boolean} isAlive  an ended session has no more events
 * @returns {() => void} ends it
 */
export function followSession(id, after, receive, isAlive) {
  let cursor = after;
  /** @type {EventSource} */
  let stream;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let again;
  const open = () => {
    stream = new EventSource(`/sessions/${encodeURIComponent(id)}/stream?typed=1&after=${cursor}`);
    for (const kind of KINDS) {
      stream.addEventListener(kind, (event) => {
        if (!(event instanceof MessageEvent) || event.data === undefined) return; // the connection's own `error`
        if (event.lastEventId) cursor = Number(event.lastEventId);
        receive(kind, JSON.parse(event.data), cursor);
      });
    }
    stream.onerror = (event) => {
      if (event instanceof MessageEvent) return;
      if (stream.readyState === EventSource.CLOSED && isAlive()) again = setTimeout(open, 2000);
    };
  };
  open();
  return () => {
    clearTimeout(again);
    stream.close();
  };
}

/**
 * A call whose progress comes while it runs; its result at the end.
 * @param {string} path @param {any} body @param {(step: any) => void} progress @returns {Promise<any>}
 */
export async function callStreamed(path, body, progress) {
  const response = await fetch(path, { method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json", "X-Operable-CSRF": data.csrf }, body: JSON.stringify(body) })
    .catch(() => { throw new ApiError(0, { code: "UNREACHABLE", message: "the daemon cannot be reached", hint: "is it still running? operable serve" }); });
  if (!response.ok || !response.body) throw new ApiError(response.status, (await response.json().catch(() => ({}))).error || {});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new ApiError(0, { code: "CUT", message: "the connection ended before the result", hint: "the audit says whether the call ended" });
    text += value;
    const messages = text.split("\n\n");
    text = messages.pop() || "";
    for (const message of messages) {
      const event = /^event: ?(.*)$/m.exec(message)?.[1];
      const given = /^data: ?(.*)$/m.exec(message)?.[1];
      if (!event || given === undefined) continue;
      if (event === "progress") progress(JSON.parse(given));
      else if (event === "error") throw new ApiError(500, JSON.parse(given));
      else return JSON.parse(given);
    }
  }
}

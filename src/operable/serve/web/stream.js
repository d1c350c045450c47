// The one stream of everything that needs attention, and streams of single sessions. Both go on by cursor.

import { get } from "./api.js";
import * as store from "./store.js";

/** @type {EventSource | null} */
let source = null;
let state = "trying";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry;
let wait = 500;
const LONGEST_WAIT = 10_000;

/** on, off or trying. */
export const connection = () => state;

/** Follow the daemon. After an interruption the browser sends the last cursor; what it cannot bridge is read anew. */
export function follow() {
  source = new EventSource("/events");
  source.addEventListener("open", () => {
    wait = 500;
    become("on");
  });
  source.addEventListener("error", () => {
    if (source && source.readyState === EventSource.CONNECTING) {
      become("trying");
      return;
    }
    source?.close();
    become("off");
    clearTimeout(retry);
    retry = setTimeout(restart, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  });
  source.addEventListener("session", (event) => took("sessions", event));
  source.addEventListener("approval", (event) => took("approvals", event));
  source.addEventListener("run", (event) => took("runs", event));
  source.addEventListener("gap", () => void load());
}

async function restart() {
  try {
    await load();
  } catch (error) {
    clearTimeout(retry);
    retry = setTimeout(restart, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
    return;
  }
  follow();
}

/** Read the lists themselves. */
export async function load() {
  const [sessions, approvals, answered] = await Promise.all([
    get("/sessions", { limit: 500 }), get("/approvals", { state: "waiting" }), get("/approvals", { state: "answered" }),
  ]);
  store.replace("sessions", sessions.sessions);
  store.replace("approvals", [...approvals.approvals, ...answered.approvals]);
}

/** @param {string} name @param {Event} event */
function took(name, event) {
  const item = JSON.parse(/** @type {MessageEvent} */ (event).data);
  if (item.forgotten) store.forget(name, item.id);
  else store.keep(name, item);
}

/** @param {string} to */
function become(to) {
  if (state === to) return;
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

// The box for the next message of a session: it says what Enter does. With it the messages that wait, each to be taken back.

import { get, may, part, post, remove } from "../api.js";
import { fill, h } from "../dom.js";
import { problem } from "./states.js";

/** Whether a session takes no more prompts. @param {any} view */
export const isOver = (view) => ["ended", "failed"].includes(view.state);

/** @type {Map<string, string>} sessions that were resumed, whose message was refused: another try resumes no second one */
const resumed = new Map();

/**
 * Send a message; one to a session that has ended goes to the session that resumes it. Gives the id of the one that got it.
 * @param {any} view @param {string} prompt @param {{queue?: boolean, interrupt?: boolean}} how @returns {Promise<string>}
 */
export async function say(view, prompt, how) {
  let id = view.id;
  if (isOver(view)) {
    id = resumed.get(view.id) || (await post(`/sessions/${part(view.id)}/resume`)).id;
    resumed.set(view.id, id);
  }
  await post(`/sessions/${part(id)}/prompt`, { prompt, ...how });
  resumed.delete(view.id);
  return id;
}

/** @type {Map<string, string>} what was typed into the boxes of sessions, and not sent */
const drafts = new Map();

/**
 * @param {HTMLElement} root
 * @returns {{draw: (view: any) => void, focus: () => void}}
 */
export function composer(root) {
  const errors = h("div", { role: "alert" });
  const queue = h("ol", { class: "queue", "aria-label": "Messages that wait" });
  let session = /** @type {any} */ (null);
  let drawn = "";
  let listed = "";

  /** @param {any} view */
  function draw(view) {
    session = view;
    if (!may("prompt")) return void fill(root, h("p", { class: "quiet" }, "This login may read and not write: its token has no scope `prompt`."));
    if (listed !== `${view.queued || 0} ${view.turns}`) void list();
    const over = isOver(view);
    const busy = view.state === "working" || view.state === "needs_you";
    const key = `${over} ${busy} ${view.owner}`;
    const before = root.querySelector("textarea");
    const placeholder = over ? "It has ended. A message resumes it" : view.state === "needs_you" ? "It waits for your answer" : busy ? "The agent is at work" : "What next?";
    if (drawn === key) return void (before && (before.placeholder = placeholder));
    drawn = key;
    if (!over && view.owner === "other") return void fill(root, h("p", { class: "quiet" }, "Another process runs this session: it is prompted there. Fork it to go on from here."));
    const isFocused = before === document.activeElement && before !== null;
    const text = /** @type {HTMLTextAreaElement} */ (h("textarea", {
      "aria-label": "Message", rows: 2, value: before?.value || drafts.get(view.id) || "", "aria-describedby": "composer-keys",
      placeholder, on: { input: () => drafts.set(view.id, text.value) },
    }));
    const usual = busy ? { queue: true } : {};
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void send(text, busy && (event.ctrlKey || event.metaKey) ? { interrupt: true } : usual);
    });
    fill(root, errors, queue, text, h("div", { class: "line" },
      h("button", { class: "first", type: "button", on: { click: () => void send(text, usual) } }, over ? "Resume and send" : busy ? "Queue" : "Send"),
      busy ? h("button", { type: "button", on: { click: () => void send(text, { interrupt: true }) } }, "Interrupt and send") : null,
      busy ? h("button", { type: "button", class: "danger", on: { click: interrupt } }, h("kbd", { "aria-hidden": "true" }, "."), "Interrupt") : null,
      h("span", { class: "quiet end hint", id: "composer-keys" }, over ? "Enter resumes it and sends · Shift+Enter: new line" : busy ? "Enter queues it · Ctrl+Enter interrupts and sends it · Shift+Enter: new line" : "Enter sends it · Shift+Enter: new line")));
    if (!isFocused) return;
    text.focus();
    text.setSelectionRange(before.selectionStart, before.selectionEnd);
  }

  async function interrupt() {
    try {
      await post(`/sessions/${part(session.id)}/interrupt`);
    } catch (error) {
      fill(errors, problem(error));
    }
  }

  /** @param {HTMLTextAreaElement} text @param {{queue?: boolean, interrupt?: boolean}} how */
  async function send(text, how) {
    const prompt = text.value;
    if (!prompt.trim()) return;
    text.value = "";
    drafts.delete(session.id);
    try {
      const id = await say(session, prompt, how);
      errors.replaceChildren();
      if (id !== session.id) location.hash = `#/session/${part(id)}`;
    } catch (error) {
      text.value = prompt; // nothing that was typed is lost
      drafts.set(session.id, prompt);
      fill(errors, problem(error));
    }
  }

  /** The messages that wait, oldest first. */
  async function list() {
    const key = (listed = `${session.queued || 0} ${session.turns}`);
    try {
      const { prompts } = session.queued ? await get(`/sessions/${part(session.id)}/queue`) : { prompts: [] };
      if (listed === key) fill(queue, ...prompts.map(waits));
    } catch (error) {
      listed = ""; // it is asked for again with the next change
      fill(errors, problem(error));
    }
  }

  /** @param {any} prompt */
  function waits(prompt) {
    const back = isOver(session) ? h("span", { class: "quiet" }, "not sent") : h("button", { type: "button", class: "plain", "aria-label": `Take back: ${prompt.text.slice(0, 60)}`, on: { click: () => void takeBack(prompt) } }, "take back");
    return h("li", { data: { key: prompt.id } }, h("span", { class: "needs_you" }, "queued"), h("span", { class: "cut grow", title: prompt.text.slice(0, 2000) }, prompt.text), back);
  }

  /** Its text comes back into the box if that is empty. @param {any} prompt */
  async function takeBack(prompt) {
    try {
      const taken = await remove(`/sessions/${part(session.id)}/queue/${part(prompt.id)}`);
      const text = root.querySelector("textarea");
      if (text && !text.value) {
        text.value = taken.text;
        drafts.set(session.id, taken.text);
      }
      text?.focus();
      errors.replaceChildren();
    } catch (error) {
      fill(errors, problem(error));
    }
    void list();
  }

  return { draw, focus: () => root.querySelector("textarea")?.focus() };
}

// Events of a session as a conversation: messages, thoughts, tool calls, ends of turns. Each has a link of its own.

import { h, plain } from "../dom.js";
import { amount, money, size } from "../words.js";
import { Streamed } from "./markdown.js";
import { ToolCard } from "./toolcall.js";

const LONG = 1_500; // characters of a message of the user that are shown at once

export class Transcript {
  /** @param {HTMLElement} root @param {string} session */
  constructor(root, session) {
    this.root = root;
    this.session = session;
    this.plan = /** @type {any[]} */ ([]);
    this.changed = () => {};
    this.open = /** @type {{kind: string, part: Streamed | null, element: HTMLElement, size: number} | null} */ (null);
    this.calls = /** @type {Map<string, ToolCard>} */ (new Map());
    this.failures = /** @type {Map<string, string>} what each code of an error said last */ (new Map());
  }

  /** @param {string} kind @param {any} event @param {number} id @param {number} at */
  take(kind, event, id, at) {
    if (kind === "text-delta") this.text(event.text, id);
    else if (kind === "thought") this.thought(event.text, id);
    else if (kind === "tool-call") this.call(event, id, at);
    else if (kind === "tool-result") this.calls.get(event.toolCallId)?.finish(event, at);
    else if (kind === "turn-end") this.end(event, id);
    else if (kind === "error") this.fail(event, id);
    else if (kind === "plan") {
      this.plan = event.entries || [];
      this.changed();
    } else if (kind === "notice") this.notice(event, id);
    else if (kind === "agent-prompt" && !event.toolName) this.add(h("p", { class: "notice needs_you" }, `● asks: ${event.text || ""}`), id);
  }

  /** @param {any} event @param {number} id */
  fail(event, id) {
    const { message = "", code = "" } = event.error || {};
    this.failures.set(code, message);
    this.add(h("div", { class: "problem" }, h("strong", null, "Error: "), message, code ? h("span", { class: "quiet" }, ` (${code})`) : null), id);
    this.changed();
  }

  /** @param {string} text @param {number} id */
  text(text, id) {
    if (this.open?.kind !== "text") {
      const element = h("div", { class: "said" });
      this.add(element, id);
      this.open = { kind: "text", part: new Streamed(element), element, size: 0 };
    }
    this.open.part?.add(text);
  }

  /** @param {string} text @param {number} id */
  thought(text, id) {
    if (this.open?.kind !== "thought") {
      const words = h("span", { class: "grow" });
      const body = h("pre", { class: "inside" });
      const element = h("details", { class: "card thought" }, h("summary", null, words), body);
      this.add(element, id);
      this.open = { kind: "thought", part: null, element, size: 0 };
    }
    const open = this.open;
    open.size += text.length;
    const [summary, body] = open.element.children;
    /** @type {Element} */ (summary.firstElementChild).textContent = `thought · ${size(open.size)}`;
    body.append(plain(text));
  }

  /** @param {any} event @param {number} id @param {number} at */
  call(event, id, at) {
    const card = new ToolCard(event, at, this.link(id));
    this.calls.set(event.toolCallId, card);
    this.add(card.element, id);
  }

  /** @param {any} event @param {number} id */
  end(event, id) {
    const usage = event.usage ? ` · ${amount((event.usage.inputTokens || 0) + (event.usage.outputTokens || 0))} tokens ${money(event.usage.costUsd)}` : "";
    if (event.reason !== "completed" || usage) this.add(h("div", { class: "end-of-turn" }, `${event.reason === "completed" ? "done" : event.reason}${usage}`), id);
    this.open = null;
  }

  /** @param {any} event @param {number} id */
  notice(event, id) {
    const data = event.data || {};
    if (event.code === "user_message") this.add(asked(data.text || ""), id);
    else if (event.code === "log_gap") this.gap(data);
    else if (event.code === "tool_progress") this.calls.get(data.toolCallId)?.progress(event.message);
    else if (event.code === "tool_revised") this.calls.get(data.toolCallId)?.revise(data);
    else this.add(h("p", { class: "notice" }, event.message, h("span", { class: "unseen" }, ` (${event.code})`)), id);
  }

  /** @param {any} extent */
  gap(extent) {
    this.add(h("p", { class: "notice" }, `Some events are no longer kept${extent.count ? ` (${extent.count})` : ""}.`), 0);
  }

  /** @param {number} id */
  link(id) {
    return `#/session/${encodeURIComponent(this.session)}/${id}`;
  }

  /** @param {HTMLElement} element @param {number} id */
  add(element, id) {
    this.open = null;
    if (id && (element.className === "said" || element.className === "user")) element.append(h("a", { class: "mark", href: this.link(id), "aria-label": "Link to this message" }));
    if (id) {
      element.dataset.cursor = String(id);
      element.id ||= `event-${id}`;
    }
    this.root.append(element);
  }

  /** Put older events in front. @param {any[]} records */
  before(records) {
    const front = h("div");
    const older = new Transcript(front, this.session);
    for (const record of records) older.take(record.event.type, record.event, record.id, record.at);
    older.open?.part?.draw();
    const height = document.documentElement.scrollHeight;
    this.root.prepend(...front.childNodes);
    window.scrollBy(0, document.documentElement.scrollHeight - height); // what one reads keeps its place
  }

  /** @param {number} id */
  show(id) {
    const places = /** @type {HTMLElement[]} */ ([...this.root.children]);
    const place = places.filter((each) => Number(each.dataset.cursor || 0) <= id).pop();
    place?.scrollIntoView({ block: "center" });
    place?.classList.add("wanted");
    if (place instanceof HTMLDetailsElement) place.open = true;
  }

  openAll() {
    const cards = /** @type {HTMLDetailsElement[]} */ ([...this.root.querySelectorAll("details.card")]);
    const open = cards.some((card) => !card.open);
    for (const card of cards) card.open = open;
  }
}

/** What the user wrote; the rest of a long one is folded. @param {string} text */
function asked(text) {
  if (text.length <= LONG) return h("div", { class: "user" }, text);
  return h("div", { class: "user" }, text.slice(0, LONG), h("details", null, h("summary", null, `… and ${size(text.length - LONG)} more`), text.slice(LONG)));
}

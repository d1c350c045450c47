// A tool call as a card of one line that opens: what, with what, how long, what came of it.

import { fill, h } from "../dom.js";
import { size, span } from "../words.js";
import { changesOf, diff } from "./diff.js";
import { icon } from "./icon.js";

const LIVE = 20_000; // characters of the output of a call that runs: its end
const FOLDED = 4_000; // characters of a result that are shown at once

export class ToolCard {
  /** @param {any} event @param {number} at @param {string} [address]  the link to this call */
  constructor(event, at, address = "") {
    this.event = event;
    this.began = at;
    this.address = address;
    this.live = ""; // what it printed so far
    this.state = h("span", { class: "working" }, h("i", { class: "sign", "aria-hidden": "true" }, "◐"), h("span", { class: "unseen" }, "running"));
    this.time = h("span", { class: "quiet" });
    this.inside = h("div", { class: "inside" });
    this.element = h("details", { class: "card", id: `call-${event.toolCallId}` },
      h("summary", null, this.state, icon(event.kind),
        h("strong", null, event.toolName), this.subject = h("span", { class: "cut grow machine" }, subject(event)), this.time), this.inside);
    this.drawn = false;
    this.result = /** @type {any} */ (null);
    this.element.addEventListener("toggle", () => this.draw());
  }

  /** Output of a call that runs; its last line stands in the card. @param {string} text */
  progress(text) {
    this.live = (this.live + text).slice(-LIVE);
    if (!this.result) this.time.textContent = size(this.live.length);
    this.drawn = false;
    this.draw();
  }

  /** The agent announced it again, with more. @param {any} given */
  revise(given) {
    this.event = { ...this.event, ...given };
    fill(this.subject, subject(this.event));
    this.drawn = false;
    this.draw();
  }

  /** @param {any} event @param {number} at */
  finish(event, at) {
    this.result = event;
    const bad = event.isError || event.denied;
    this.state.className = bad ? "failed" : "ended";
    fill(this.state, h("i", { class: "sign", "aria-hidden": "true" }, bad ? "✗" : "✓"), h("span", { class: "unseen" }, event.denied ? "denied" : bad ? "failed" : "done"));
    this.time.textContent = `${event.denied ? "denied · " : ""}${span(Math.max(0, at - this.began) / 1000)}`;
    this.drawn = false;
    if (/** @type {HTMLDetailsElement} */ (this.element).open) this.draw();
  }

  /** Made when it is opened: a long transcript has thousands of them. */
  draw() {
    if (this.drawn || !(/** @type {HTMLDetailsElement} */ (this.element).open)) return;
    this.drawn = true;
    const given = this.event.arguments;
    const changes = changesOf(this.event, this.event.kind);
    fill(this.inside,
      ...changes.map(diff),
      given && Object.keys(given).length && !changes.length ? h("pre", null, typeof given === "string" ? given : JSON.stringify(given, null, 2)) : null,
      this.result ? folded(textOf(this.result.result)) : this.live ? h("pre", { class: "live", tabindex: "0" }, this.live) : h("p", { class: "quiet" }, "It runs."),
      this.address ? h("a", { class: "here", href: this.address }, "link to this call") : null);
  }
}

/** What the call is about, in a few words. @param {any} event */
function subject(event) {
  const given = event.arguments || {};
  const first = given.command ?? given.cmd ?? given.file_path ?? given.path ?? given.pattern ?? given.url ?? given.query;
  if (Array.isArray(first)) return first.join(" ");
  if (typeof first === "string") return first.split("\n")[0];
  return event.title || (event.locations || [])[0] || "";
}

/** @param {any} result @returns {string} */
function textOf(result) {
  if (typeof result === "string") return result;
  if (result === null || result === undefined) return "";
  if (Array.isArray(result) && result.every((part) => typeof part?.text === "string")) return result.map((part) => part.text).join("\n");
  return JSON.stringify(result, null, 2);
}

/** @param {string} text */
export function folded(text) {
  if (!text) return h("p", { class: "quiet" }, "No output.");
  if (text.length <= FOLDED) return h("pre", { tabindex: "0" }, text);
  const rest = h("button", { type: "button", class: "plain", on: { click: () => whole.replaceWith(h("pre", { tabindex: "0" }, text)) } }, `Show all of it (${size(text.length)})`);
  const whole = h("div", null, h("pre", { tabindex: "0" }, text.slice(0, FOLDED)), rest);
  return whole;
}

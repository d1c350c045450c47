// All sessions, by what they need: needs you, working, idle, ended, failed.

import { get, may, part, patch, post, remove } from "../api.js";
import { fill, h } from "../dom.js";
import { isOver, say } from "../parts/composer.js";
import { ask, choose } from "../parts/dialogs.js";
import { icon } from "../parts/icon.js";
import { gist, verb } from "../parts/question.js";
import { FIRST, empty, problem, sign } from "../parts/states.js";
import { windowed } from "../parts/window.js";
import * as store from "../store.js";
import { age, amount, exact, folder, money, STATES } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Sessions", open };

const FAILED = "[error] "; // begins the last line of a session that says why it failed
const ORDER = ["needs_you", "working", "idle", "failed", "ended"];

/** @param {HTMLElement} root */
function open(root) {
  const filter = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter sessions", on: { input: () => draw() } }));
  const errors = h("div");
  const groups = h("div");
  root.append(h("div", { class: "head" }, h("h1", null, "Sessions"), filter, may("prompt") ? h("a", { class: "button end", href: "#/start" }, h("kbd", { "aria-hidden": "true" }, "n"), "Start a session") : null), errors, groups);
  /** @type {Map<string, {head: HTMLElement, rows: ReturnType<typeof windowed<any>>}>} */
  const made = new Map();
  let chosen = "";
  let replying = "";

  function listed() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (/** @type {any} */ each) => `${each.label || ""} ${each.adapterSlug} ${each.cwd} ${each.lastLine || ""} ${STATES[each.state]?.[1] || ""}`.toLowerCase();
    return store.all("sessions").filter((each) => words.every((word) => text(each).includes(word)));
  }

  function draw() {
    const sessions = listed();
    if (!sessions.length) {
      made.clear();
      fill(groups, filter.value ? empty("No session fits", "The filter looks at name, agent, folder, state and last line. Escape leaves it.") : empty("No sessions yet", "Start one here, or in a terminal.", FIRST));
      return;
    }
    if (!made.size) groups.replaceChildren();
    for (const state of ORDER) {
      // What a session asks is not in the session: such a row is made anew each time.
      const own = sessions.filter((each) => each.state === state).map((each) => (state === "needs_you" ? { ...each } : each)).sort((left, right) =>
        Number(Boolean(right.pinned)) - Number(Boolean(left.pinned)) || ((left.lastOutputAt || left.startedAt) < (right.lastOutputAt || right.startedAt) ? 1 : -1));
      let group = made.get(state);
      if (!group) {
        group = { head: h("h2", { class: "group" }), rows: windowed(STATES[state][1], (each) => each.id, row) };
        made.set(state, group);
        groups.append(group.head, group.rows.list, group.rows.more);
      }
      group.head.hidden = !own.length;
      fill(group.head, sign(state, true), ` ${own.length}`);
      group.rows.draw(own);
    }
    mark();
  }

  /** @param {any} each */
  function row(each) {
    const tokens = (each.tokens?.in || 0) + (each.tokens?.out || 0);
    const figures = [tokens ? `${amount(tokens)} tokens` : "", money(each.costUsd)].filter(Boolean).join(" · ");
    return h("li", { class: "row" },
      h("a", { href: `#/session/${part(each.id)}`, on: { focus: () => { chosen = each.id; mark(); } } }, sign(each.state), each.pinned ? h("span", { class: "pin", title: "pinned" }, icon("pin"), h("span", { class: "unseen" }, "pinned")) : null,
        h("span", { class: "name" }, each.label || each.adapterSlug), h("span", { class: "where", title: each.cwd }, `${each.label ? `${each.adapterSlug} · ` : ""}${folder(each.cwd)}`),
        h("span", { class: "what quiet" }, lastWords(each)),
        each.queued ? h("span", { class: "figures" }, `${each.queued} queued`) : null, figures ? h("span", { class: "figures", title: `${each.tokens.in} in, ${each.tokens.out} out` }, figures) : null,
        h("span", { class: "age", title: exact(each.lastOutputAt || each.startedAt) }, age(each.lastOutputAt || each.startedAt))),
      h("button", { type: "button", class: "plain dots", "aria-label": `Actions for ${each.label || each.adapterSlug}`, on: { click: () => { chosen = each.id; void menu(); } } }, "⋯"),
      replying === each.id ? reply(each) : null);
  }

  /** What it asks, why it failed, or what it said last. @param {any} each */
  function lastWords(each) {
    const question = each.state === "needs_you" ? store.waiting().find((one) => one.sourceId === each.id) : null;
    return question ? [h("span", { class: "needs_you" }, `${verb(question)} `), h("span", { class: "machine" }, gist(question))] : each.lastLine?.startsWith(FAILED) ? each.lastLine.slice(FAILED.length) : each.error || each.lastLine || "";
  }

  /** @param {any} each */
  function reply(each) {
    const input = /** @type {HTMLInputElement} */ (h("input", { type: "text", class: "grow", "aria-label": "Reply", placeholder: isOver(each) ? "It has ended: Enter resumes it and sends" : ["working", "needs_you"].includes(each.state) ? "Enter queues it" : "Enter sends it" }));
    return h("form", { class: "reply line", on: { submit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      try {
        await say(each, input.value, isOver(each) ? {} : { queue: true });
        replying = "";
        store.keep("sessions", { ...each });
      } catch (error) {
        fill(errors, problem(error));
      }
    } } }, input, h("button", { class: "first", type: "submit" }, "Send"));
  }

  function mark() {
    for (const item of groups.querySelectorAll(".row")) item.setAttribute("aria-current", /** @type {HTMLElement} */ (item).dataset.key === chosen ? "true" : "false");
  }

  /** @param {number} step */
  function move(step) {
    const rows = /** @type {HTMLElement[]} */ ([...groups.querySelectorAll(".row")]);
    if (!rows.length) return;
    const at = rows.findIndex((item) => item.dataset.key === chosen);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
    chosen = next.dataset.key || "";
    /** @type {HTMLElement | null} */ (next.querySelector("a"))?.focus();
  }

  /** @param {(session: any) => Promise<any>} act */
  const on = (act) => async () => {
    const session = store.find("sessions", chosen);
    if (!session) return;
    try {
      const view = await act(session);
      if (view?.id) store.keep("sessions", view);
    } catch (error) {
      fill(errors, problem(error));
    }
  };

  function answerIt() {
    replying = chosen;
    const session = store.find("sessions", chosen);
    if (!session) return;
    store.keep("sessions", { ...session });
    draw();
    /** @type {HTMLElement | null} */ (groups.querySelector(".reply input"))?.focus();
  }

  const pin = on((session) => patch(`/sessions/${part(session.id)}`, { pinned: !session.pinned }));
  const rename = on(async (session) => {
    const label = await ask("Name of the session", "Rename", { value: session.label || "" });
    return label === null ? null : patch(`/sessions/${part(session.id)}`, { label });
  });

  /** Everything that the keys do, for a finger. */
  async function menu() {
    const session = store.find("sessions", chosen);
    if (!session) return;
    const over = isOver(session);
    const result = await choose(session.label || session.adapterSlug, [
      ["reply", over ? "Resume it with a message" : "Reply"], ["pin", session.pinned ? "Unpin" : "Pin to the top of its group"], ["rename", "Rename"],
      ["fork", "Fork: a new session that begins with what was said"], over ? ["resume", "Resume"] : ["kill", "End it, with what it started"],
      ...(over ? [["forget", "Forget it, with its log"]] : []),
    ].map(([name, text]) => /** @type {[string, string]} */ ([name, text])));
    if (!result) return;
    const { chosen: verb } = result;
    if (verb === "reply") answerIt();
    else if (verb === "pin") await pin();
    else if (verb === "rename") await rename();
    else if (verb === "forget") await on(async () => { await remove(`/sessions/${part(session.id)}`); store.forget("sessions", session.id); })();
    else await on(() => post(`/sessions/${part(session.id)}/${verb}`).then((view) => { if (view.id !== session.id) location.hash = `#/session/${part(view.id)}`; }))();
  }

  /** Sessions that are older than what the page has. */
  async function searchOlder() {
    if (!filter.value.trim() || !store.all("sessions").length) return;
    try {
      const { sessions } = await get("/sessions", { q: filter.value, limit: 100 });
      for (const each of sessions) if (!store.find("sessions", each.id)) store.keep("sessions", each);
    } catch (error) {
      fill(errors, problem(error));
    }
  }
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let soon;
  filter.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(searchOlder, 300);
  });

  const ends = [store.subscribe("sessions", draw), store.subscribe("approvals", draw), store.subscribe("clock", draw), () => clearTimeout(soon)];
  draw();
  return {
    close: () => ends.forEach((end) => end()),
    keys: {
      ArrowDown: () => move(1), ArrowUp: () => move(-1), "/": () => filter.focus(), m: () => void menu(),
      ...(may("prompt") ? { r: answerIt, p: () => void pin(), e: () => void rename() } : {}),
    },
  };
}

// All sessions, by what they need: needs you, working, idle, ended, failed.

import { patch, part, post } from "../api.js";
import { fill, h, reconcile } from "../dom.js";
import { ask } from "../parts/dialogs.js";
import { empty, problem, sign } from "../parts/states.js";
import * as store from "../store.js";
import { age, amount, exact, folder, money, STATES } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Sessions", open };

const ORDER = ["needs_you", "working", "idle", "failed", "ended"];

/** @param {HTMLElement} root */
function open(root) {
  const filter = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter sessions", on: { input: () => draw() } }));
  const errors = h("div");
  const groups = h("div");
  root.append(h("div", { class: "head" }, h("h1", null, "Sessions"), filter, h("a", { class: "button end", href: "#/start" }, h("kbd", { "aria-hidden": "true" }, "n"), "Start a session")), errors, groups);
  /** @type {Map<string, {head: HTMLElement, rows: HTMLElement}>} */
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
      fill(groups, filter.value ? empty("No session fits", "Clear the filter to see all of them.") : empty("No sessions yet", "Start one here, or in a terminal.", "operable agent prompt AGENT --prompt 'hello'"));
      return;
    }
    if (!made.size) groups.replaceChildren();
    for (const state of ORDER) {
      const own = sessions.filter((each) => each.state === state).sort((left, right) =>
        Number(Boolean(right.pinned)) - Number(Boolean(left.pinned)) || ((left.lastOutputAt || left.startedAt) < (right.lastOutputAt || right.startedAt) ? 1 : -1));
      let group = made.get(state);
      if (!group) {
        group = { head: h("h2", { class: "group" }), rows: h("ul", { class: "rows" }) };
        made.set(state, group);
        groups.append(group.head, group.rows);
      }
      group.head.hidden = !own.length;
      group.rows.setAttribute("aria-label", STATES[state][1]);
      fill(group.head, sign(state, true), ` ${own.length}`);
      reconcile(group.rows, own, (each) => each.id, row);
    }
    mark();
  }

  /** @param {any} each */
  function row(each) {
    const tokens = (each.tokens?.in || 0) + (each.tokens?.out || 0);
    const figures = [tokens ? `${amount(tokens)} tokens` : "", money(each.costUsd)].filter(Boolean).join(" · ");
    return h("li", { class: "row" },
      h("a", { href: `#/session/${part(each.id)}`, on: { focus: () => { chosen = each.id; mark(); } } }, sign(each.state), each.pinned ? h("span", { title: "pinned" }, "📌") : null,
        h("span", { class: "name" }, each.label || each.adapterSlug), h("span", { class: "where", title: each.cwd }, `${each.label ? `${each.adapterSlug} · ` : ""}${folder(each.cwd)}`),
        h("span", { class: "what quiet" }, each.error || each.lastLine || ""), figures ? h("span", { class: "figures" }, figures) : null,
        each.queued ? h("span", { class: "figures" }, `${each.queued} queued`) : null,
        h("span", { class: "age", title: exact(each.lastOutputAt || each.startedAt) }, age(each.lastOutputAt || each.startedAt))),
      replying === each.id ? reply(each) : null);
  }

  /** @param {any} each */
  function reply(each) {
    const input = /** @type {HTMLInputElement} */ (h("input", { type: "text", class: "grow", "aria-label": "Reply", placeholder: each.state === "working" ? "Enter queues it" : "Enter sends it" }));
    return h("form", { class: "reply line", on: { submit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      try {
        await post(`/sessions/${part(each.id)}/prompt`, { prompt: input.value, queue: true });
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

  const ends = [store.subscribe("sessions", draw), store.subscribe("clock", draw)];
  draw();
  return {
    close: () => ends.forEach((end) => end()),
    keys: {
      ArrowDown: () => move(1), ArrowUp: () => move(-1), "/": () => filter.focus(),
      r: () => { replying = chosen; const session = store.find("sessions", chosen); if (session) { store.keep("sessions", { ...session }); requestAnimationFrame(() => requestAnimationFrame(() => /** @type {HTMLElement | null} */ (groups.querySelector(".reply input"))?.focus())); } },
      p: on((session) => patch(`/sessions/${part(session.id)}`, { pinned: !session.pinned })),
      e: on(async (session) => {
        const label = await ask("Name of the session", "Rename", { value: session.label || "" });
        return label === null ? null : patch(`/sessions/${part(session.id)}`, { label });
      }),
    },
  };
}

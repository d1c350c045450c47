// The palette that finds anything, the list of keys, and a question before what cannot be undone.

import { fill, h } from "../dom.js";
import { all } from "../store.js";
import { folder } from "../words.js";
import { sign } from "./states.js";

const SHOWN = 30;

/** @param {HTMLElement} content @param {string} name */
function show(content, name) {
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-label": name }, content));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Whoever goes to another place leaves the dialog: its buttons would act on what is not on the screen any more. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

/** @param {string | undefined} text  what the answer is for */
const about = (text) => (text ? h("pre", { class: "about" }, text) : null);

/** Places, sessions and questions by what one types. */
export function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  const list = h("ul", { role: "listbox", id: "palette-list" });
  const input = /** @type {HTMLInputElement} */ (h("input", {
    type: "search", placeholder: "Find a place, a session, a question", "aria-label": "Find", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list",
  }));
  let chosen = 0;
  /** @type {[string, string, string][]} */
  let hits = [];
  const draw = () => fill(list, hits.length ? null : h("li", { class: "quiet nothing" }, "Nothing fits."), ...hits.map(([state, text, address], index) =>
    h("li", { role: "option", "aria-selected": index === chosen ? "true" : "false" },
      h("a", { href: address, on: { click: () => dialog.close() } }, state ? sign(state) : null, h("span", { class: "cut" }, text)))));
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = candidates().filter(([, text]) => words.every((word) => text.toLowerCase().includes(word))).slice(0, SHOWN);
    chosen = 0;
    draw();
  };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && hits.length) {
      chosen = (chosen + step + hits.length) % hits.length;
      draw();
      event.preventDefault();
    } else if (event.key === "Escape") {
      dialog.close(); // a search field would take the first Escape for itself
      event.preventDefault();
    } else if (event.key === "Enter" && hits[chosen]) {
      dialog.close();
      location.hash = hits[chosen][2];
    }
  });
  const dialog = show(h("div", { class: "palette" }, input, list), "Find");
  search();
}

/** @returns {[string, string, string][]} */
function candidates() {
  return [
    ["", "Start a session", "#/start"], ["", "Inbox", "#/inbox"], ["", "Sessions", "#/sessions"], ["", "Flows", "#/flows"],
    ["", "Catalog", "#/catalog"], ["", "Lint matrix", "#/lint"], ["", "Audit", "#/audit"],
    ...all("approvals").filter((each) => each.state === "waiting").map((each) => /** @type {[string, string, string]} */ (
      ["waiting", `${each.agent || each.source}: ${each.tool || each.text}`, `#/inbox/${encodeURIComponent(each.id)}`])),
    ...all("sessions").map((each) => /** @type {[string, string, string]} */ (
      [each.state, `${each.label || each.adapterSlug} · ${folder(each.cwd)} · ${each.lastLine || ""}`, `#/session/${encodeURIComponent(each.id)}`])),
  ];
}

/** The keys that open the palette, as they are on this keyboard. */
export const FIND = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K";
/** @type {Record<string, string>} */
const GENERAL = { i: "inbox", s: "sessions", f: "flows", c: "catalog", u: "audit", n: "start a session", [FIND]: "find anything", "?": "this list", Esc: "leave a field" };
/** @type {Record<string, string>} */
const OWN = { ArrowDown: "next", ArrowUp: "previous", Enter: "open", a: "allow once", d: "deny", w: "allow while…", x: "select", r: "reply", "/": "filter", p: "pin", e: "rename", ".": "interrupt", o: "open or close all cards", g: "to the newest", m: "all actions", v: "verify" };

/** @param {Record<string, () => void>} [own] */
export function openKeys(own) {
  const rows = [...Object.keys(own || {}).map((key) => [key, OWN[key] || ""]), ...Object.entries(GENERAL).filter(([key]) => !own?.[key])];
  show(h("div", null, h("h2", null, "Keys"),
    h("dl", { class: "keys" }, rows.flatMap(([key, does]) => [h("dt", null, h("kbd", null, key.replace("ArrowDown", "↓").replace("ArrowUp", "↑"))), h("dd", null, does)]))), "Keys");
}

/**
 * Ask for a word or a reason; null when the person leaves.
 * @param {string} title @param {string} button @param {{value?: string, hint?: string, about?: string, required?: boolean}} [options]
 * @returns {Promise<string | null>}
 */
export function ask(title, button, options = {}) {
  return new Promise((resolve) => {
    const input = /** @type {HTMLInputElement} */ (h("input", { type: "text", value: options.value || "", required: options.required || null, "aria-label": title, autofocus: true }));
    const form = h("form", { method: "dialog", class: "form" }, h("h2", null, title), about(options.about), options.hint ? h("p", { class: "quiet" }, options.hint) : null, input,
      h("div", { class: "line" }, h("button", { class: "first", type: "submit" }, button),
        h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel")));
    let said = /** @type {string | null} */ (null);
    form.addEventListener("submit", () => (said = input.value));
    const dialog = show(form, title);
    dialog.addEventListener("close", () => resolve(said));
    input.focus();
    input.select();
  });
}

/**
 * One of several actions; null when the person leaves. A word may be given beside it.
 * @param {string} title @param {[string, string][]} options  what is returned, and its words
 * @param {{word?: string, about?: string}} [more]  the label of the field for a word, and what it is about
 * @returns {Promise<{chosen: string, word: string} | null>}
 */
export function choose(title, options, more = {}) {
  return new Promise((resolve) => {
    let result = /** @type {{chosen: string, word: string} | null} */ (null);
    const word = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "choice-word" }));
    const dialog = show(h("div", { class: "form" }, h("h2", null, title), about(more.about),
      more.word ? h("div", { class: "field" }, h("label", { for: "choice-word" }, more.word), word) : null,
      options.map(([chosen, text]) => h("button", { type: "button", class: "choice", on: { click: () => {
        result = { chosen, word: word.value };
        dialog.close();
      } } }, text)),
      h("button", { type: "button", class: "plain", on: { click: () => dialog.close() } }, "Cancel")), title);
    dialog.addEventListener("close", () => resolve(result));
    /** @type {HTMLElement | null} */ (dialog.querySelector(".choice"))?.focus();
  });
}

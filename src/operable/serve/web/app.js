// The page: the bar, the routes, the keys. A place is one file in views/; its name is the first part of the route.

import { announce, fill, h } from "./dom.js";
import { openKeys, openPalette } from "./parts/dialogs.js";
import { problem, skeleton } from "./parts/states.js";
import * as store from "./store.js";
import { connection, follow, load } from "./stream.js";

/**
 * @typedef {{close?: () => void, keys?: Record<string, () => void>, title?: string}} Opened
 * @typedef {{title: string, open: (root: HTMLElement, params: string[]) => Opened}} View
 */

/** @type {[string, string, string][]} route, key, title */
export const PLACES = [
  ["inbox", "i", "Inbox"], ["sessions", "s", "Sessions"], ["flows", "f", "Flows"], ["catalog", "c", "Catalog"], ["audit", "a", "Audit"],
];
const OTHERS = ["session", "start", "run"];
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {Opened} */
let opened = {};
let place = "";
let told = 0;

/** The place and its parameters, from the address. */
function route() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  return { name: parts[0] || "inbox", params: parts.slice(1) };
}

async function show() {
  const { name, params } = route();
  opened.close?.();
  opened = {};
  place = name;
  drawBar();
  const root = h("div", { class: "place" });
  if (!PLACES.some(([known]) => known === name) && !OTHERS.includes(name)) {
    fill(main, problem({ message: `there is no place “${name}”`, hint: "press i for the inbox" }));
    return;
  }
  const slow = setTimeout(() => fill(main, skeleton()), 200);
  try {
    const module = await import(`./views/${name}.js`);
    clearTimeout(slow);
    if (place !== name) return; // another place was opened meanwhile
    fill(main, root);
    opened = module.VIEW.open(root, params);
    document.title = titled(opened.title || module.VIEW.title);
  } catch (error) {
    clearTimeout(slow);
    fill(main, problem(error));
  }
}

function drawBar() {
  const count = store.waiting().length;
  const state = connection();
  const words = { on: ["●", "connected"], off: ["✗", "not connected"], trying: ["◌", "connecting"] };
  const [mark, word] = words[/** @type {keyof typeof words} */ (state)];
  fill(
    /** @type {HTMLElement} */ (document.getElementById("bar")),
    h("a", { class: "brand", href: "#/inbox" }, "Operable"),
    h("nav", { "aria-label": "Places" }, PLACES.map(([name, key, title]) =>
      h("a", { href: `#/${name}`, "aria-current": isAt(name) ? "page" : null },
        h("kbd", { "aria-hidden": "true" }, key), title,
        name === "inbox" && count ? h("span", { class: "count", "aria-label": `${count} waiting` }, count) : null))),
    h("button", { class: "plain shortcut", type: "button", on: { click: () => openPalette() } }, "⌘K", h("span", { class: "unseen" }, " find anything")),
    h("button", { class: "plain shortcut", type: "button", on: { click: () => openKeys(opened.keys) } }, "?", h("span", { class: "unseen" }, " keys")),
    h("span", { class: `connection ${state}`, role: "status", title: word }, h("span", { "aria-hidden": "true" }, mark), h("span", { class: "word" }, ` ${word}`)),
  );
}

/** @param {string} name */
function isAt(name) {
  return name === place || (name === "sessions" && ["session", "start"].includes(place)) || (name === "flows" && place === "run");
}

/** @param {string} title */
function titled(title) {
  const count = store.waiting().length;
  return `${count ? `(${count}) ` : ""}${title} · Operable`;
}

/** New questions: the count in bar and title, one sentence for listeners, a notification where it was asked for. */
function attend() {
  const waiting = store.waiting();
  drawBar();
  document.title = titled(document.title.replace(/^\(\d+\) /, "").replace(/ · Operable$/, ""));
  if (waiting.length > told) {
    const newest = waiting[waiting.length - 1];
    announce(`${newest.agent || newest.source} needs you: ${newest.tool || newest.text}. ${waiting.length} waiting.`);
    if (document.hidden && "Notification" in window && Notification.permission === "granted") {
      new Notification("Operable: an agent needs you", { body: `${newest.agent || ""} ${newest.tool || newest.text || ""}`.trim(), tag: newest.id });
    }
  }
  told = waiting.length;
}

/** @param {KeyboardEvent} event */
function press(event) {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (target.matches("input:not([type=checkbox]), textarea, select")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const own = opened.keys?.[event.key];
  if (own) {
    event.preventDefault();
    own();
    return;
  }
  const known = PLACES.find(([, key]) => key === event.key);
  if (known) location.hash = `#/${known[0]}`;
  else if (event.key === "n") location.hash = "#/start";
  else if (event.key === "?") openKeys(opened.keys);
  else return;
  event.preventDefault();
}

async function begin() {
  await load();
  told = store.waiting().length;
  store.subscribe("approvals", attend);
  store.subscribe("connection", drawBar);
  window.addEventListener("hashchange", () => void show());
  window.addEventListener("keydown", press);
  setInterval(() => store.touch("clock"), 30_000);
  follow();
  await show();
}

begin().catch((error) => fill(main, problem(error)));

// The page: the bar, the routes, the keys. A place is one file in views/; its name is the first part of the route.

import { announce, fill, h } from "./dom.js";
import { FIND, closeDialogs, openKeys, openPalette } from "./parts/dialogs.js";
import { problem, skeleton } from "./parts/states.js";
import * as store from "./store.js";
import { connection, follow, seed } from "./stream.js";
import { clock } from "./words.js";

/**
 * @typedef {{close?: () => void, keys?: Record<string, () => void>, title?: string}} Opened
 * @typedef {{title: string, open: (root: HTMLElement, params: string[]) => Opened}} View
 */

/** @type {[string, string, string][]} route, key, title */
export const PLACES = [
  ["inbox", "i", "Inbox"], ["sessions", "s", "Sessions"], ["flows", "f", "Flows"], ["catalog", "c", "Catalog"], ["audit", "u", "Audit"],
];
/** Places below those: each belongs to one of the bar. @type {Record<string, string>} */
const BELOW = { session: "sessions", start: "sessions", run: "flows", lint: "catalog" };
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {Opened} */
let opened = {};
let place = "";
let told = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let late;
const PATIENCE = 2000; // milliseconds: an interruption that is over before that needs no words

/** @type {Record<string, [string, string]>} */
const CONNECTIONS = { on: ["●", "connected"], off: ["✗", "not connected"], trying: ["◌", "connecting"], out: ["✗", "logged out"] };

/** The place and its parameters, from the address. */
function route() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  return { name: parts[0] || "inbox", params: parts.slice(1) };
}

async function show() {
  const { name, params } = route();
  closeDialogs();
  opened.close?.();
  opened = {};
  place = name;
  drawBar();
  const root = h("div", { class: "place" });
  if (!PLACES.some(([known]) => known === name) && !(name in BELOW)) {
    fill(main, problem({ message: `there is no place “${name}”` }), h("p", { class: "head" }, h("a", { href: "#/inbox" }, "To the inbox")));
    return;
  }
  const slow = setTimeout(() => fill(main, skeleton()), 200);
  try {
    const module = await import(`./views/${name}.js`);
    clearTimeout(slow);
    if (place !== name) return; // another place was opened meanwhile
    fill(main, root);
    window.scrollTo(0, 0);
    opened = module.VIEW.open(root, params);
    if (!performance.getEntriesByName("first-view").length) performance.mark("first-view");
    document.title = titled(opened.title || module.VIEW.title);
  } catch (error) {
    clearTimeout(slow);
    fill(main, problem(error));
  }
}

function drawBar() {
  const count = store.waiting().length;
  const { state } = connection();
  const [mark, word] = CONNECTIONS[state];
  fill(
    /** @type {HTMLElement} */ (document.getElementById("bar")),
    h("a", { class: "brand", href: "#/inbox" }, "Operable"),
    h("nav", { "aria-label": "Places" }, PLACES.map(([name, key, title]) =>
      h("a", { href: `#/${name}`, "aria-current": isAt(name) ? "page" : null },
        h("kbd", { "aria-hidden": "true" }, key), title,
        name === "inbox" && count ? h("span", { class: "count", "aria-label": `${count} waiting` }, count) : null))),
    h("button", { class: "plain shortcut", type: "button", on: { click: () => openPalette() } }, FIND, h("span", { class: "unseen" }, " find anything")),
    h("button", { class: "plain shortcut", type: "button", on: { click: () => openKeys(opened.keys) } }, "?", h("span", { class: "unseen" }, " keys")),
    h("span", { class: `connection ${state}`, role: "status", title: word }, h("span", { "aria-hidden": "true" }, mark), h("span", { class: "word" }, ` ${word}`)),
  );
}

/** @param {string} name */
const isAt = (name) => name === place || BELOW[place] === name;

/** What one sees may be old: since when, and what to do. */
function drawBanner() {
  const { state, since } = connection();
  const banner = /** @type {HTMLElement} */ (document.getElementById("banner"));
  clearTimeout(late);
  if (state === "on") fill(banner);
  else if (state === "trying") late = setTimeout(() => connection().state === "trying" && fill(banner, broken(`The connection is lost since ${clock(since)}: what you see may be old. Trying again…`, "operable serve")), PATIENCE);
  else if (state === "off") fill(banner, broken(`The daemon does not answer since ${clock(since)}: what you see is from before. Trying again…`, "operable serve"));
  else fill(banner, broken("This browser is not logged in any more. A new link is printed by:", "operable serve --link"));
}

/** @param {string} text @param {string} command */
const broken = (text, command) => h("div", { class: "problem" }, text, " ", h("code", null, command));

/** @param {string} title */
function titled(title) {
  const count = store.waiting().length;
  return `${count ? `(${count}) ` : ""}${title} · Operable`;
}

/** New questions: the count in bar and title, one sentence for listeners, a notification where it was asked for. */
function attend() {
  const waiting = store.waiting();
  drawBar();
  drawIcon(waiting.length);
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

/** The count in the icon of the tab. @param {number} count */
function drawIcon(count) {
  const number = count > 9 ? "9+" : String(count);
  const badge = count ? `<circle cx="22" cy="10" r="10" fill="#c26a00"/><text x="22" y="15" font-family="sans-serif" font-size="14" font-weight="700" text-anchor="middle" fill="#fff">${number}</text>` : "";
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2456c9"/><circle cx="16" cy="16" r="7.5" fill="none" stroke="#fff" stroke-width="3.5"/>${badge}</svg>`;
  document.getElementById("icon")?.setAttribute("href", `data:image/svg+xml,${encodeURIComponent(drawing)}`);
}

/** Arrow keys go through the rows of a place that has no order of its own. @param {number} step */
function walk(step) {
  const rows = /** @type {HTMLElement[]} */ ([...main.querySelectorAll(".rows > .row > a, .rows > .row > details > summary")]);
  const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
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
  else if (event.key === "ArrowDown") walk(1);
  else if (event.key === "ArrowUp") walk(-1);
  else return;
  event.preventDefault();
}

async function begin() {
  seed();
  told = store.waiting().length;
  drawIcon(told);
  store.subscribe("approvals", attend);
  store.subscribe("connection", () => {
    drawBar();
    drawBanner();
  });
  window.addEventListener("hashchange", () => void show());
  window.addEventListener("keydown", press);
  setInterval(() => store.touch("clock"), 30_000);
  await show();
  follow();
  drawBanner();
}

begin().catch((error) => fill(main, problem(error)));

// The sealed record of a workspace: who asked for what, what was decided by whom, how it ended.

import { get, part } from "../api.js";
import { fill, h } from "../dom.js";
import { FIRST, empty, problem, skeleton } from "../parts/states.js";
import { clock, count } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Audit", open };

const PAGE = 200;

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  const verdict = h("div", { role: "status" });
  const body = h("div", null, skeleton());
  const places = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Workspace", on: { change: () => void draw() } }));
  const order = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Order", on: { change: () => show() } }, h("option", { value: "time" }, "by time"), h("option", { value: "actor" }, "by session or caller"), h("option", { value: "thing" }, "by thing")));
  const filter = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter records", on: { input: () => show() } }));
  const head = h("div", { class: "head" }, h("h1", null, "Audit"), places, order, filter, h("button", { type: "button", class: "end", on: { click: () => void verify() } }, h("kbd", { "aria-hidden": "true" }, "v"), "Verify"));
  root.append(head, verdict, body);
  /** @type {any[]} */
  let records = [];
  let cursor = /** @type {number | null} */ (null);

  async function begin() {
    const { workspaces } = await get("/audit/workspaces");
    fill(places, ...workspaces.map((/** @type {any} */ each) => h("option", { value: each.slug, selected: each.slug === params[0] }, each.label || each.slug)));
    if (!workspaces.length) fill(head, h("h1", null, "Audit"));
    if (!workspaces.length) return fill(body, empty("No record yet", "Everything that is decided or done is recorded here.", FIRST));
    return draw();
  }

  async function draw() {
    fill(verdict);
    const wanted = places.value === params[0] && params[1] ? Number(params[1]) + PAGE / 2 : null;
    const page = await get("/audit", { workspace: places.value, limit: PAGE, before: wanted });
    records = page.records;
    cursor = page.before ?? null;
    show();
    if (wanted) document.getElementById(`seq-${params[1]}`)?.scrollIntoView({ block: "center" });
  }

  function show() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = records.filter((each) => words.every((word) => JSON.stringify(each).toLowerCase().includes(word)));
    const groups = new Map();
    for (const each of hits) {
      const name = order.value === "time" ? day(each.ts) : order.value === "actor" ? actorOf(each) : thingOf(each) || each.action;
      groups.set(name, [...(groups.get(name) || []), each]);
    }
    fill(body, hits.length ? null : empty("No record fits", "The filter looks at everything in a record.", "operable audit list"),
      ...[...groups].flatMap(([name, own]) => [h("h2", { class: "group" }, `${name} `, h("span", null, own.length)), h("ul", { class: "rows", "aria-label": `Records of ${name}, newest first` }, own.map(row))]),
      cursor !== null ? h("div", { class: "head" }, h("button", { type: "button", on: { click: () => void more() } }, "Show earlier")) : null);
  }

  async function more() {
    const page = await get("/audit", { workspace: places.value, limit: PAGE, before: cursor });
    records = [...records, ...page.records];
    cursor = page.before ?? null;
    show();
  }

  async function verify() {
    fill(verdict, h("p", { class: "head working" }, "◐ checks every record"));
    try {
      const result = await get("/audit/verify", { workspace: places.value });
      fill(verdict, result.ok ? h("p", { class: "head ended" }, `✓ ${count(result.records, "record")}: each is as it was written, none is missing, up to the sealed head.`, result.lost ? ` ${count(result.lost, "call")} began and never said how it ended: its process was killed.` : "", result.running ? ` ${count(result.running, "call")} still run.` : "") : problem({ message: result.problems.map((/** @type {any} */ each) => `${each.code} at ${each.line}: ${each.message}`).join("; ") }));
    } catch (error) {
      fill(verdict, problem(error));
    }
  }

  /** @param {any} each */
  function row(each) {
    const decision = each.policy?.decision || "";
    const sealed = h("div", { class: "sealed" });
    const address = `#/audit/${part(places.value)}/${each.seq}`;
    const details = /** @type {HTMLDetailsElement} */ (h("details", { class: "grow" }, h("summary", null,
      h("span", { class: "quiet machine seq" }, each.seq), h("span", { class: "age", title: each.ts }, clock(Date.parse(each.ts))), h("strong", null, each.action),
      decision ? h("span", { class: decision === "allow" ? "allowed" : decision === "deny" ? "denied" : "needs_you" }, `${decision === "allow" ? "✓" : decision === "deny" ? "✗" : "●"} ${decision}`) : null,
      h("span", { class: "what machine" }, thingOf(each)), h("span", { class: "quiet figures" }, actorOf(each)), each.policy?.ref ? h("span", { class: "quiet figures" }, `by ${each.policy.ref}`) : null), sealed));
    details.addEventListener("toggle", () => details.open && !sealed.childElementCount && fill(sealed, h("pre", { tabindex: "0" }, JSON.stringify(each, null, 2)), h("a", { class: "here", href: address }, "link to this record")));
    details.open = String(each.seq) === params[1] && places.value === params[0];
    return h("li", { class: "row", id: `seq-${each.seq}` }, details);
  }

  begin().catch((error) => fill(body, problem(error)));
  return { keys: { "/": () => filter.focus(), v: () => void verify() } };
}

/** What a record is about. @param {any} each */
const thingOf = (each) => String(each.subject?.ref || each.subject?.path || each.subject?.kind || "");
/** Who did it. @param {any} each */
const actorOf = (each) => String(typeof each.actor === "string" ? each.actor : each.actor?.id || each.actor?.ref || each.session || "");
/** @param {string} at */
const day = (at) => new Date(at).toLocaleDateString([], { weekday: "long", year: "numeric", month: "long", day: "numeric" });

// The sealed record of a workspace: who asked for what, what was decided by whom, how it ended.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { empty, problem, skeleton } from "../parts/states.js";
import { exact } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Audit", open };

const PAGE = 200;

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  const verdict = h("div", { role: "status" });
  const body = h("div", null, skeleton());
  const places = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Workspace", on: { change: () => void draw() } }));
  const filter = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter records", on: { input: () => show() } }));
  root.append(h("div", { class: "head" }, h("h1", null, "Audit"), places, filter, h("button", { type: "button", class: "end", on: { click: () => void verify() } }, "Verify")), h("div", { class: "head" }, verdict), body);
  /** @type {any[]} */
  let records = [];
  let cursor = /** @type {number | null} */ (null);

  async function begin() {
    const { workspaces } = await get("/audit/workspaces");
    fill(places, ...workspaces.map((/** @type {any} */ each) => h("option", { value: each.slug, selected: each.slug === params[0] }, each.label || each.slug)));
    if (!workspaces.length) return fill(body, empty("No record yet", "Everything that is decided or done is recorded here.", "operable agent prompt AGENT --prompt 'hello'"));
    return draw();
  }

  async function draw() {
    const page = await get("/audit", { workspace: places.value, limit: PAGE });
    records = page.records;
    cursor = page.before ?? null;
    show();
  }

  function show() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = records.filter((each) => words.every((word) => JSON.stringify(each).toLowerCase().includes(word)));
    fill(body, h("ul", { class: "rows", "aria-label": "Records, newest first" }, hits.map(row)),
      cursor !== null ? h("div", { class: "head" }, h("button", { type: "button", on: { click: () => void more() } }, "Show earlier")) : null);
  }

  async function more() {
    const page = await get("/audit", { workspace: places.value, limit: PAGE, before: cursor });
    records = [...records, ...page.records];
    cursor = page.before ?? null;
    show();
  }

  async function verify() {
    fill(verdict, h("span", { class: "working" }, "◐ checks every record"));
    try {
      const result = await get("/audit/verify", { workspace: places.value });
      fill(verdict, result.ok ? h("span", { class: "ended" }, `✓ ${result.records} records: each is as it was written, in order, up to the head`) : problem({ message: result.problems.map((/** @type {any} */ each) => `${each.code} at ${each.line}: ${each.message}`).join("; ") }));
    } catch (error) {
      fill(verdict, problem(error));
    }
  }

  /** @param {any} each */
  function row(each) {
    const decision = each.policy?.decision || "";
    return h("li", { class: "row", id: `seq-${each.seq}` }, h("details", { class: "grow", open: String(each.seq) === params[1] }, h("summary", null,
      h("span", { class: "quiet" }, `${each.seq} `), h("span", { class: "quiet", title: each.ts }, `${exact(each.ts)} `), h("strong", null, each.action),
      ` ${each.subject?.kind || ""} ${each.subject?.ref || each.subject?.path || ""} `, decision ? h("span", { class: decision === "allow" ? "allowed" : "denied" }, decision) : null,
      h("span", { class: "quiet" }, each.policy?.ref ? ` by ${each.policy.ref}` : "")), h("pre", null, JSON.stringify(each, null, 2))));
  }

  begin().catch((error) => fill(body, problem(error)));
  return { keys: { "/": () => filter.focus() } };
}

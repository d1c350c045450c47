// The lint matrix: what each wrapped tool keeps of the contract, a row each.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { copyable, empty, problem, skeleton } from "../parts/states.js";
import { count, exact } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Lint", open };

/** @type {Record<string, [string, string, string]>} verdict -> sign, word, state */
const VERDICTS = {
  pass: ["✓", "keeps it", "ended"], warn: ["!", "keeps it with a warning", "needs_you"], fail: ["✗", "breaks it", "failed"],
  untested: ["?", "not tested", "needs_you"], "not-applicable": ["–", "does not apply", "idle"],
};

/** @param {HTMLElement} root */
function open(root) {
  const filter = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter tools" }));
  const body = h("div", null, skeleton());
  root.append(h("div", { class: "head" }, h("a", { href: "#/catalog", "aria-label": "The catalog" }, "‹"), h("h1", null, "Lint matrix"), filter), body);
  get("/lint").then(({ reports }) => {
    if (!reports.length) return fill(body, empty("No report is kept", "A report says which promises of the contract a tool keeps.", "operable lint TOOL"));
    const draw = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      fill(body, matrix(reports.filter((/** @type {any} */ each) => words.every((word) => each.tool.toLowerCase().includes(word)))));
    };
    filter.addEventListener("input", draw);
    return draw();
  }).catch((error) => fill(body, problem(error)));
  return { keys: { "/": () => filter.focus() } };
}

/** @param {any[]} reports */
function matrix(reports) {
  const columns = [...new Set(reports.flatMap((each) => Object.keys(each.verdicts)))].sort();
  const all = reports.flatMap((each) => Object.values(each.verdicts));
  return h("div", null,
    h("p", { class: "head quiet" }, Object.entries(VERDICTS).map(([name, [mark, word, state]]) =>
      h("span", { class: state }, `${mark} ${word} `, h("span", { class: "quiet" }, all.filter((verdict) => verdict === name).length)))),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Verdicts" }, h("table", { class: "table matrix" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, count(reports.length, "tool")), columns.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, reports.map((each) => h("tr", null, h("th", { scope: "row", title: `kept ${exact(each.at)}` }, each.tool.replace(/^wrap /, "")),
        columns.map((name) => cell(each.verdicts[name] || "untested"))))))),
    h("p", { class: "head quiet" }, "Judge one again, and see every finding, in a terminal:"), h("div", { class: "head" }, copyable("operable lint 'operable wrap df'")));
}

/** @param {string} verdict */
function cell(verdict) {
  const [mark, word, state] = VERDICTS[verdict] || ["?", verdict, "idle"];
  return h("td", { class: state, title: word }, h("span", { "aria-hidden": "true" }, mark), h("span", { class: "unseen" }, word));
}

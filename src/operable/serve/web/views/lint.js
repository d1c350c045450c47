// What the linter found: rows are tools, columns the characteristics.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { empty, problem, skeleton } from "../parts/states.js";
import { age } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Lint", open };

/** @type {Record<string, [string, string]>} */
const MARKS = { pass: ["✓", "ended"], fail: ["✗", "failed"], warn: ["!", "needs_you"], untested: ["–", "idle"], "not-applicable": ["", "idle"] };

/** @param {HTMLElement} root */
function open(root) {
  const body = h("div", null, skeleton());
  root.append(h("div", { class: "head" }, h("a", { href: "#/catalog" }, "‹"), h("h1", null, "Lint reports")), body);
  get("/lint").then(({ reports }) => {
    if (!reports.length) return fill(body, empty("No reports are kept", "Lint a tool; its report comes here.", "operable lint TOOL"));
    const names = [...new Set(reports.flatMap((/** @type {any} */ each) => Object.keys(each.verdicts)))].sort();
    return fill(body, h("div", { class: "scroll" }, h("table", { class: "table" }, h("thead", null, h("tr", null, h("th", null, "Tool"), names.map((name) => h("th", null, name)), h("th", null, ""))),
      h("tbody", null, reports.map((/** @type {any} */ report) => h("tr", null, h("th", { scope: "row" }, report.tool), names.map((name) => {
        const [mark, style] = MARKS[report.verdicts[name]] || ["", "idle"];
        return h("td", { class: style, title: report.verdicts[name] || "" }, mark, h("span", { class: "unseen" }, report.verdicts[name] || ""));
      }), h("td", { class: "quiet" }, age(report.at))))))));
  }).catch((error) => fill(body, problem(error)));
  return {};
}

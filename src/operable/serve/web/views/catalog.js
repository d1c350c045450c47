// Everything operable on this machine, and a form for each of its commands.

import { get, part, request } from "../api.js";
import { fill, h } from "../dom.js";
import { form } from "../parts/form.js";
import { copyable, empty, problem, skeleton } from "../parts/states.js";
import { folded } from "../parts/toolcall.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Catalog", open };

/** @type {Record<string, string>} */
const RISKS = { "read-only": "read", changes: "change", destructive: "destroy", unknown: "change" };

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  const [kind, name, action] = params;
  if (kind && name) void thing(root, kind, name, action);
  else void list(root);
  return { keys: { "/": () => /** @type {HTMLElement | null} */ (root.querySelector("input[type=search]"))?.focus() } };
}

/** @param {HTMLElement} root */
async function list(root) {
  const filter = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the catalog" }));
  const body = h("div", null, skeleton());
  root.append(h("div", { class: "head" }, h("h1", null, "Catalog"), filter), body);
  try {
    const { entries } = await get("/catalog");
    const draw = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const hits = entries.filter((/** @type {any} */ each) => words.every((word) => `${each.kind} ${each.name} ${each.description}`.toLowerCase().includes(word)));
      if (!hits.length) return fill(body, empty("Nothing fits", entries.length ? "Clear the filter." : "Tools, wrapped programs, applications, agents and flows come here.", entries.length ? "" : "operable catalog"));
      const kinds = [...new Set(hits.map((/** @type {any} */ each) => each.kind))];
      return fill(body, ...kinds.flatMap((kind) => [h("h2", { class: "group" }, kind), h("ul", { class: "rows" }, hits.filter((/** @type {any} */ each) => each.kind === kind).map(row))]));
    };
    filter.addEventListener("input", draw);
    draw();
  } catch (error) {
    fill(body, problem(error));
  }
}

/** @param {any} each */
function row(each) {
  return h("li", { class: "row" }, h("a", { href: `#/catalog/${part(each.kind)}/${part(each.name)}` },
    h("span", { class: "name" }, each.name), risk(each.risk), h("span", { class: "what quiet" }, each.description || each.problem || ""),
    each.health === "ok" ? null : h("span", { class: "failed" }, each.health), h("span", { class: "figures" }, each.actions?.length ? `${each.actions.length} commands` : "")));
}

/** @param {string} value */
const risk = (value) => h("span", { class: `risk ${RISKS[value] || "change"}` }, RISKS[value] || value);

/** @param {HTMLElement} root @param {string} kind @param {string} name @param {string} [chosen] */
async function thing(root, kind, name, chosen) {
  const side = h("section", { class: "side" }, skeleton());
  const detail = h("section", { class: "detail" });
  root.append(h("div", { class: `split ${chosen ? "open" : ""}` }, side, detail));
  try {
    const about = await get(`/catalog/${part(kind)}/${part(name)}`);
    const here = `#/catalog/${part(kind)}/${part(name)}`;
    fill(side, h("div", { class: "head" }, h("a", { href: "#/catalog" }, "‹"), h("h1", null, name), risk(about.risk), h("span", { class: "quiet" }, about.version || "")),
      h("p", { class: "head" }, about.description), about.problem ? problem({ message: about.problem }) : null,
      h("ul", { class: "rows" }, (about.actions || []).map((/** @type {any} */ each) => h("li", { class: "row", "aria-current": each.name === chosen ? "true" : "false" },
        h("a", { href: `${here}/${part(each.name)}` }, h("span", { class: "name" }, each.name), risk(each.risk), h("span", { class: "what quiet" }, each.summary))))));
    const action = (about.actions || []).find((/** @type {any} */ each) => each.name === chosen);
    if (action) fill(detail, h("a", { class: "back", href: here }, `‹ ${name}`), call(kind, name, action));
    else fill(detail, empty("Choose a command", "Its form comes from its input schema."));
  } catch (error) {
    fill(side, problem(error));
  }
}

/** @param {string} kind @param {string} name @param {any} action */
function call(kind, name, action) {
  const output = h("div", { class: "output", "aria-live": "polite" });
  const line = h("div");
  const made = form(action.inputSchema || { properties: {} }, {}, () => drawLine());
  const button = h("button", { class: action.risk === "destructive" ? "danger" : "first", type: "submit" }, "Run");
  const drawLine = () => fill(line, copyable(commandLine(kind, name, action.name, safely(made.value))));
  drawLine();
  return h("form", { on: { submit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!made.check()) return;
    fill(output, h("p", { class: "working" }, "◐ runs; if a rule asks, the question is in the inbox"));
    /** @type {HTMLButtonElement} */ (button).disabled = true;
    try {
      const result = await request("POST", `/catalog/${part(kind)}/${part(name)}/${part(action.name)}/call`, { arguments: made.value() });
      fill(output, h("p", { class: result.ok ? "ended" : "failed" }, result.ok ? "✓ done" : `✗ ${result.code}`),
        ...(result.errors || []).map((/** @type {any} */ each) => problem(each)), folded((result.entries || []).map((/** @type {any} */ each) => JSON.stringify(each)).join("\n")),
        result.truncated ? h("p", { class: "quiet" }, "There is more than is shown here.") : null);
    } catch (error) {
      fill(output, problem(error));
    }
    /** @type {HTMLButtonElement} */ (button).disabled = false;
  } } },
  h("div", { class: "line" }, h("h1", null, `${name} ${action.name}`), risk(action.risk)), h("p", null, action.summary),
  action.assurance ? h("p", { class: "quiet" }, action.assurance) : null, made.element, h("p", { class: "quiet" }, "The same in a terminal:"), line,
  h("div", { class: "line" }, button), output);
}

/** @param {() => any} read */
function safely(read) {
  try {
    return read();
  } catch (error) {
    return {}; // a field is half written
  }
}

/** @param {string} kind @param {string} name @param {string} action @param {any} given */
function commandLine(kind, name, action, given) {
  const quote = (/** @type {any} */ value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
  };
  const words = Object.entries(given).flatMap(([key, value]) => (value === true ? [`--${key}`] : value === false ? [`--no-${key}`] : [value].flat().map((each) => `--${key}=${quote(each)}`)));
  const front = { wrap: `operable wrap ${name}`, app: `operable app call ${name}`, agent: `operable agent ${action} ${name}` }[kind] || `operable run ${name}`;
  return [front, ...(kind === "agent" ? [] : [action]), ...words].join(" ");
}

// Everything operable on this machine, and a form for each of its commands.

import { data, get, may, part, post } from "../api.js";
import { fill, h } from "../dom.js";
import { form } from "../parts/form.js";
import { copyable, empty, problem, skeleton } from "../parts/states.js";
import { callStreamed } from "../stream.js";
import { count } from "../words.js";
import { folded } from "../parts/toolcall.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Catalog", open };

/** @type {Record<string, string>} */
const RISKS = { "read-only": "read", changes: "change", destructive: "destroy", unknown: "change" };

/** @type {Record<string, string>} */
const KINDS = { tool: "Tools", wrap: "Wrapped programs", app: "Applications", agent: "Agents", flow: "Flows", mcp: "MCP servers" };
/** What a caller is called in a rule, and what the page calls it. @type {[string, string][]} */
const CALLERS = [["mcp:any", "MCP clients"], ["session:any", "agents"], ["flow:any/any", "flows"]];
/** @type {Record<string, string>} */
const EFFECTS = { "read-only": "read", changes: "change", destructive: "destroy", unknown: "unknown" };

/** What can be used comes first. @param {any} left @param {any} right */
const usable = (left, right) => Number(!left.callable) - Number(!right.callable) || left.name.localeCompare(right.name);

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
  root.append(h("div", { class: "head" }, h("h1", null, "Catalog"), filter, h("a", { class: "end", href: "#/lint" }, "Lint matrix")), body);
  try {
    const { entries } = await get("/catalog");
    const draw = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const hits = entries.filter((/** @type {any} */ each) => words.every((word) => `${each.kind} ${each.name} ${each.description} ${each.health} ${(each.actions || []).map((/** @type {any} */ action) => action.name).join(" ")}`.toLowerCase().includes(word)));
      if (!hits.length) return fill(body, empty("Nothing fits", entries.length ? "The filter looks at kind, name, commands and description." : "Tools, wrapped programs, applications, agents and flows come here.", entries.length ? "" : "operable catalog"));
      const kinds = [...new Set(hits.map((/** @type {any} */ each) => each.kind))];
      return fill(body, ...kinds.flatMap((kind) => [h("h2", { class: "group" }, KINDS[kind] || kind), h("ul", { class: "rows" }, hits.filter((/** @type {any} */ each) => each.kind === kind).sort(usable).map(row))]));
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
    h("span", { class: each.callable ? "name" : "name quiet" }, each.name), risk(each.risk), h("span", { class: "what quiet" }, each.description || each.problem || ""),
    each.health === "ok" ? null : h("span", { class: each.health === "broken" ? "failed" : "quiet" }, each.health === "missing" ? "– not installed" : each.health === "broken" ? "✗ broken" : `○ ${each.health}`),
    h("span", { class: "figures" }, each.actions?.length ? count(each.actions.length, "command") : "")));
}

/** @param {string} value */
const risk = (value) => h("span", { class: `risk ${RISKS[value] || "change"}` }, RISKS[value] || value);

/** @param {HTMLElement} root @param {string} kind @param {string} name @param {string} [chosen] */
async function thing(root, kind, name, chosen) {
  const side = h("section", { class: "side" }, skeleton());
  const detail = h("section", { class: "detail" });
  const split = h("div", { class: `split ${chosen ? "open" : ""}` }, side, detail);
  root.append(split);
  try {
    const about = await get(`/catalog/${part(kind)}/${part(name)}`);
    if (!chosen && about.actions?.length === 1) {
      chosen = about.actions[0].name;
      split.classList.add("open");
    }
    const here = `#/catalog/${part(kind)}/${part(name)}`;
    fill(side, h("div", { class: "head" }, h("a", { href: "#/catalog", "aria-label": "The catalog" }, "‹"), h("h1", null, name), risk(about.risk), h("span", { class: "quiet" }, about.version || "")),
      h("p", { class: "head" }, about.description), about.problem ? h("div", { class: "head" }, whyNot(about)) : null,
      h("ul", { class: "rows" }, (about.actions || []).map((/** @type {any} */ each) => h("li", { class: "row", "aria-current": each.name === chosen ? "true" : "false" },
        h("a", { href: `${here}/${part(each.name)}` }, h("span", { class: "name" }, each.name), risk(each.risk), h("span", { class: "what quiet" }, each.summary))))));
    const action = (about.actions || []).find((/** @type {any} */ each) => each.name === chosen);
    if (action && !about.callable) fill(detail, h("a", { class: "back", href: "#/catalog" }, "‹ Catalog"), h("h1", null, `${name} ${action.name}`), h("p", null, action.summary), whyNot(about));
    else if (action) fill(detail, h("a", { class: "back", href: about.actions.length === 1 ? "#/catalog" : here }, `‹ ${about.actions.length === 1 ? "Catalog" : name}`), call(kind, name, action));
    else if (chosen) fill(detail, problem({ message: `${name} has no command ${chosen}` }));
    else fill(detail, empty("Choose a command", "Its form comes from its input schema."));
  } catch (error) {
    split.classList.remove("open");
    fill(side, h("p", { class: "head" }, h("a", { href: "#/catalog" }, "‹ Catalog")), problem(error));
  }
}

/** A problem that is a command is what to do. @param {any} about */
function whyNot(about) {
  const text = about.problem || `it is ${about.health}`;
  const isCommand = text.startsWith("operable ");
  const state = about.health === "missing" ? "not installed" : about.health;
  return h("div", { class: "grow" }, h("p", { class: "needs_you" }, isCommand ? `● It is ${state}, and cannot be called. This brings it:` : `● ${text}`), isCommand ? copyable(text) : null);
}

/** @param {string} kind @param {string} name @param {any} action */
function call(kind, name, action) {
  const output = h("div", { class: "output", "aria-live": "polite" });
  const line = h("div");
  const made = form(action.inputSchema || { properties: {} }, {}, () => drawLine());
  const run = /** @type {HTMLButtonElement} */ (h("button", { class: action.risk === "destructive" ? "danger" : "first", type: "submit" }, "Run"));
  const plan = action.dryRun ? /** @type {HTMLButtonElement} */ (h("button", { type: "button", on: { click: () => void start(true) } }, "Only show what it would do")) : null;
  const drawLine = () => {
    const typed = commandLine(kind, name, action, safely(made.value));
    fill(line, ...(typed ? [h("p", { class: "quiet" }, data.folder ? `It runs in ${data.folder}. The same in a terminal there:` : "The same in a terminal:"), copyable(typed)] : []));
  };
  drawLine();

  /** @param {boolean} dry */
  async function start(dry) {
    if (!made.check()) return;
    const progress = h("p", { class: "working" }, h("i", { class: "sign", "aria-hidden": "true" }, "◐"), "runs; if a rule asks, the question is in the inbox");
    fill(output, progress);
    run.disabled = true;
    if (plan) plan.disabled = true;
    try {
      const result = await callStreamed(`/catalog/${part(kind)}/${part(name)}/${part(action.name)}/call?stream=1`, { arguments: made.value(), dry_run: dry }, (step) => {
        fill(progress, h("i", { class: "sign", "aria-hidden": "true" }, "◐"), [step.message || "runs", step.total ? `${step.progress} of ${step.total}` : ""].filter(Boolean).join(" · "));
      });
      fill(output, h("p", { class: result.ok ? "ended" : "failed" }, result.ok ? `✓ done · ${count(result.entries.length, "entry", "entries")}` : `✗ ${result.code}`),
        ...(result.errors || []).map((/** @type {any} */ each) => problem(each)), ...(result.warnings || []).map((/** @type {any} */ each) => h("p", { class: "needs_you" }, `! ${each.message || JSON.stringify(each)}`)),
        entries(result.entries || []), result.truncated ? h("p", { class: "quiet" }, "There is more than is shown here; the command line above gives the rest by its cursor.") : null);
    } catch (error) {
      fill(output, problem(error));
    }
    run.disabled = false;
    if (plan) plan.disabled = false;
  }

  return h("form", { on: { submit: (/** @type {Event} */ event) => { event.preventDefault(); void start(false); } } },
    h("div", { class: "line" }, h("h1", null, `${name} ${action.name}`), risk(action.risk)), h("p", null, action.summary),
    action.assurance ? h("p", { class: "quiet" }, action.assurance) : null, callers(kind, name, action), made.element, line,
    may("prompt") ? h("div", { class: "line act" }, run, plan) : h("p", { class: "quiet" }, "This login may look and not call: its token has no scope `prompt`."), output);
}

/** Who else may call it, as the rules are now. @param {string} kind @param {string} name @param {any} action */
function callers(kind, name, action) {
  const place = h("p", { class: "quiet callers" });
  Promise.all(CALLERS.map(([caller]) => post("/policy/test", { caller, kind, name, action: action.name, effect: EFFECTS[action.risk] || "unknown" }))).then((found) =>
    fill(place, "By the rules: ", ...found.flatMap((each, index) => [h("span", { title: each.why }, `${CALLERS[index][1]} `, h("span", { class: { allow: "allowed", deny: "denied" }[/** @type {string} */ (each.effect)] || "needs_you" }, { allow: "may call it", deny: "may not", ask: "ask a person" }[/** @type {string} */ (each.effect)] || each.effect)), index < found.length - 1 ? " · " : ""])),
  ).catch((error) => fill(place, `What the rules say cannot be read: ${error.message}`));
  return place;
}

/** Flat entries as a table, everything else as it is. @param {any[]} found */
function entries(found) {
  const isFlat = found.length && found.every((each) => each && typeof each === "object" && Object.values(each).every((value) => value === null || typeof value !== "object"));
  if (!isFlat) return folded(found.map((each) => JSON.stringify(each, null, 1)).join("\n"));
  const columns = [...new Set(found.flatMap((each) => Object.keys(each)))].filter((name) => name !== "type");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Result" }, h("table", { class: "table data" }, h("thead", null, h("tr", null, columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", null, found.slice(0, 500).map((each) => h("tr", null, columns.map((name) => h("td", null, each[name] === null || each[name] === undefined ? "" : String(each[name]))))))));
}

/** @param {() => any} read */
function safely(read) {
  try {
    return read();
  } catch (error) {
    return {}; // a field is half written
  }
}

/** @param {any} value */
function quoted(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What one would type; null where there is no command for it. @param {string} kind @param {string} name @param {any} action @param {any} given @returns {string | null} */
function commandLine(kind, name, action, given) {
  const operands = (action.operands || []).flatMap((/** @type {string} */ each) => (given[each] === undefined ? [] : [given[each]].flat()));
  const options = Object.entries(given).filter(([key]) => !(action.operands || []).includes(key)).flatMap(([key, value]) =>
    value === true ? [`--${key}`] : value === false ? [`--no-${key}`] : key === "input" ? ["--input-jsonl=items.jsonl"] : [value].flat().map((each) => `--${key}=${quoted(each)}`));
  const words = [...options, ...(operands.length ? ["--", ...operands.map(quoted)] : [])];
  const free = (given.arguments || []).map(quoted); // of a command that does not describe its input
  if (kind === "flow" && action.name === "runs") return `operable engine runs --job=${quoted(name)}`;
  if (kind === "flow") return ["operable", "engine", action.name, quoted(name), ...options].join(" ");
  if (kind === "agent") return ["operable", "agent", action.name, name, ...options].join(" ");
  if (kind === "wrap") return ["operable", "wrap", name, action.name, ...words].join(" ");
  if (kind === "app") return ["operable", "app", "call", "--", name, action.name, ...free].join(" ");
  return kind === "tool" ? ["operable", "run", "--", name, action.name, ...(given.arguments ? free : words)].join(" ") : null;
}

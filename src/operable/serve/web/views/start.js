// Start a session: agent, mode, options, folder or worktree, sandbox, first message. What there is to choose says the agent's manifest.

import { data, get, may, part, post } from "../api.js";
import { fill, h } from "../dom.js";
import { form } from "../parts/form.js";
import { empty, problem, skeleton } from "../parts/states.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Start a session", open };

const OTHER = "\n"; // not a slug
/** What one chooses at every start, in this order; the rest is folded. */
const FIRST = ["mode", "model", "sandbox"];

/** @param {HTMLElement} root @param {string[]} params  the agent that is chosen first */
function open(root, params) {
  const body = h("div", { class: "head" }, skeleton());
  root.append(h("div", { class: "head" }, h("a", { href: "#/sessions", "aria-label": "All sessions" }, "‹"), h("h1", null, "Start a session")), body);
  if (!may("prompt")) fill(body, problem({ status: 403, message: "this login may not start sessions: its token has no scope `prompt`" }));
  else Promise.all([get("/catalog", { kind: "agent" }), get("/workspaces")]).then(([catalog, workspaces]) => {
    fill(body, made(catalog.entries, workspaces, params[0] || remembered()));
    if (window.matchMedia("(pointer: fine)").matches) /** @type {HTMLElement | null} */ (body.querySelector("#prompt"))?.focus();
  }).catch((error) => fill(body, problem(error)));
  return {};
}

/** @param {any[]} agents @param {any} workspaces @param {string} first */
function made(agents, workspaces, first) {
  const usable = agents.filter((each) => each.callable);
  if (!usable.length) return empty("No agent is installed", "Install one, then come back.", "operable agent list");
  const select = /** @type {HTMLSelectElement} */ (h("select", { id: "agent", on: { change: () => void choose() } }, usable.map((each) => h("option", { value: each.name, selected: each.name === first }, each.name))));
  const about = h("div", { class: "help" });
  const place = /** @type {HTMLSelectElement} */ (h("select", { id: "place", on: { change: () => (other.hidden = !(path.required = place.value === OTHER)) } },
    (workspaces.workspaces || []).map((/** @type {any} */ each) => h("option", { value: each.slug, selected: each.slug === workspaces.active }, `${each.label || each.slug} · ${each.path}`)),
    h("option", { value: "" }, `the folder of the daemon${data.folder ? ` · ${data.folder}` : ""}`), may("admin") ? h("option", { value: OTHER }, "another folder…") : null));
  const path = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "path", placeholder: "/home/me/code/project", pattern: "\\s*(/|~/).*", title: "A path from / or ~/ on" }));
  const other = h("div", { class: "field", hidden: true }, h("label", { for: "path" }, "Path of the folder"), path, h("div", { class: "help" }, "It is registered as a workspace, and is in this list from then on."));
  const branch = /** @type {HTMLInputElement} */ (h("input", { type: "text", "aria-label": "Branch", placeholder: "a new branch", hidden: true }));
  const worktree = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", id: "worktree", on: { change: () => (branch.hidden = !worktree.checked) } }));
  const label = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "label", maxlength: 200 }));
  const prompt = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "prompt", rows: 4, on: { keydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit(); } } }));
  const details = h("div");
  const errors = h("div", { class: "errors", role: "alert" });
  const button = /** @type {HTMLButtonElement} */ (h("button", { class: "first", type: "submit" }, "Start"));
  /** @type {import("../parts/form.js").Form[]} */
  let forms = [];

  async function choose() {
    const name = select.value;
    fill(about, usable.find((each) => each.name === name)?.description || "");
    fill(details, skeleton());
    forms = [];
    try {
      const { start } = await get(`/catalog/agent/${part(name)}`);
      if (select.value !== name) return; // another one was chosen meanwhile
      const { mode, model, sandbox, recover, options } = start?.properties || {};
      const known = Object.entries({ mode, model, sandbox }).filter(([, shape]) => shape).map(([key, shape]) => /** @type {[string, any]} */ ([key, { ...shape, title: key[0].toUpperCase() + key.slice(1) }]));
      const main = form({ properties: Object.fromEntries(known.sort(([left], [right]) => FIRST.indexOf(left) - FIRST.indexOf(right))) });
      const more = form({ properties: { ...(options?.properties || {}), ...(recover ? { recover } : {}) } });
      forms = [main, more];
      fill(details, known.length ? main.element : h("p", { class: "quiet" }, "This agent has no modes."),
        sandbox ? null : h("p", { class: "needs_you" }, "● What confines it is the choice of an admin; its manifest decides."),
        h("details", { class: "more-options" }, h("summary", null, "More of this agent"), more.element));
    } catch (error) {
      fill(details, problem(error));
    }
  }

  /** The folder: without either, it would be that of the active workspace. @returns {Promise<{ground?: string, cwd?: string}>} */
  async function ground() {
    if (place.value === "") return workspaces.active && data.folder ? { cwd: data.folder } : {};
    if (place.value !== OTHER) return { ground: `ws://workspaces/@me/${place.value}` };
    const known = (workspaces.workspaces || []);
    const same = known.find((/** @type {any} */ each) => each.path === path.value.replace(/\/+$/, ""));
    const name = path.value.replace(/\/+$/, "").split("/").pop()?.toLowerCase().replace(/[^a-z0-9-]+/g, "-").replace(/^-+|-+$/g, "") || "folder";
    let slug = same?.slug || name;
    // A slug that is taken means another folder: it keeps it.
    for (let number = 2; !same && known.some((/** @type {any} */ each) => each.slug === slug); number += 1) slug = `${name}-${number}`;
    const made = await post("/workspaces", { slug, path: path.value.trim() });
    return { ground: `ws://workspaces/@me/${made.slug}` };
  }

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!forms.every((each) => each.check())) return;
    const [{ mode, model, sandbox }, { recover, ...options }] = [forms[0]?.value() || {}, forms[1]?.value() || {}];
    button.disabled = true;
    fill(button, "Starts…");
    try {
      const view = await post("/sessions/agent", {
        adapter: select.value, ...(await ground()), prompt: prompt.value || undefined, label: label.value || undefined,
        worktree: worktree.checked ? branch.value || true : undefined, mode, model, sandbox, recover, options: Object.keys(options).length ? options : undefined,
      });
      localStorage.setItem("agent", select.value);
      location.hash = `#/session/${part(view.id)}`;
    } catch (error) {
      fill(errors, problem(error));
      button.disabled = false;
      fill(button, "Start");
    }
  };
  void choose();
  const element = /** @type {HTMLFormElement} */ (h("form", { class: "form start", on: { submit } },
    row("agent", "Agent", select, about), row("prompt", "First message", prompt), row("place", "Folder", place), other,
    h("div", { class: "line" }, worktree, h("label", { for: "worktree" }, "in a git worktree of its own"), branch),
    details, row("label", "Name", label), h("div", { class: "line answer" }, button, h("span", { class: "quiet hint" }, "Ctrl+Enter in the message starts it"), errors)));
  return element;
}

/** The agent of the last start. */
function remembered() {
  return localStorage.getItem("agent") || "";
}

/** @param {string} id @param {string} text @param {...HTMLElement} inputs */
function row(id, text, ...inputs) {
  return h("div", { class: "field" }, h("label", { for: id }, text), inputs);
}

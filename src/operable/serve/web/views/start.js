// Start a session: agent, mode, options, folder or worktree, sandbox, first message.

import { get, part, post } from "../api.js";
import { fill, h } from "../dom.js";
import { form } from "../parts/form.js";
import { empty, problem, skeleton } from "../parts/states.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Start a session", open };

/** @param {HTMLElement} root */
function open(root) {
  const body = h("div", { class: "head" }, skeleton());
  root.append(h("div", { class: "head" }, h("h1", null, "Start a session")), body);
  Promise.all([get("/catalog", { kind: "agent" }), get("/workspaces")]).then(([catalog, workspaces]) => fill(body, made(catalog.entries, workspaces))).catch((error) => fill(body, problem(error)));
  return {};
}

/** @param {any[]} agents @param {any} workspaces */
function made(agents, workspaces) {
  const usable = agents.filter((each) => each.health === "ok" || each.health === "unknown");
  if (!usable.length) return empty("No agent is installed", "Install one, then come back.", "operable agent list");
  const select = /** @type {HTMLSelectElement} */ (h("select", { id: "agent", on: { change: () => void choose() } }, usable.map((each) => h("option", { value: each.name }, each.name))));
  const place = /** @type {HTMLSelectElement} */ (h("select", { id: "place" },
    (workspaces.workspaces || []).map((/** @type {any} */ each) => h("option", { value: each.slug, selected: each.slug === workspaces.active }, `${each.label || each.slug} · ${each.path}`)),
    h("option", { value: "" }, "the folder of the daemon")));
  const worktree = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", id: "worktree" }));
  const label = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "label" }));
  const prompt = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "prompt", rows: 4 }));
  const details = h("div", { class: "form" });
  const errors = h("div");
  /** @type {{value: () => any, check: () => boolean} | null} */
  let options = null;

  async function choose() {
    fill(details, skeleton());
    try {
      const about = await get(`/catalog/agent/${part(select.value)}`);
      const properties = { ...(about.start?.properties || {}) };
      const made = form({ properties, required: [] });
      options = made;
      fill(details, h("p", { class: "quiet" }, `What confines it is in its manifest: operable agent show ${select.value}`), made.element);
    } catch (error) {
      fill(details, problem(error));
    }
  }

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (options && !options.check()) return;
    const { mode, model, sandbox, ...rest } = options?.value() || {};
    try {
      const view = await post("/sessions/agent", {
        adapter: select.value, ground: place.value ? `ws://workspaces/@me/${place.value}` : undefined, prompt: prompt.value || undefined,
        label: label.value || undefined, worktree: worktree.checked || undefined, mode, model, sandbox, options: Object.keys(rest).length ? rest : undefined,
      });
      location.hash = `#/session/${part(view.id)}`;
    } catch (error) {
      fill(errors, problem(error));
    }
  };
  void choose();
  return h("form", { class: "form", on: { submit } },
    row("agent", "Agent", select), row("place", "Folder", place), h("div", { class: "field inline" }, worktree, h("label", { for: "worktree" }, "in a git worktree of its own")),
    details, row("label", "Name", label), row("prompt", "First message", prompt), errors,
    h("div", { class: "line" }, h("button", { class: "first", type: "submit" }, "Start")));
}

/** @param {string} id @param {string} text @param {HTMLElement} input */
function row(id, text, input) {
  return h("div", { class: "field" }, h("label", { for: id }, text), input);
}

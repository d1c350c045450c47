// What stands beside a conversation: the plan, how full the context is, where it comes from, who was asked to help.

import { get, part } from "../api.js";
import { fill, h } from "../dom.js";
import * as store from "../store.js";
import { amount, money, short } from "../words.js";
import { problem, sign } from "./states.js";

/** What to do about a failure that a message alone does not change. @type {Record<string, string>} */
const HINTS = { unasked_tool_call: "this agent does not ask for everything: start it in a sandbox, or with rules that allow this tool" };

/** @type {Map<string, any>} the tree of a session, as it was when one of its sessions changed last */
const trees = new Map();

/**
 * Whether there is anything.
 * @param {HTMLElement} root @param {any} view @param {import("./transcript.js").Transcript} transcript @param {() => void} redraw  what it needed has come
 * @returns {boolean}
 */
export function drawBeside(root, view, transcript, redraw) {
  const { plan, failures } = transcript;
  const context = view.context?.size ? view.context.used / view.context.size : 0;
  const parts = [
    view.error ? problem({ message: failures.get(view.error) || view.error, code: failures.has(view.error) ? view.error : "", hint: HINTS[view.error] || "a message resumes it; the audit has what it did until then" }) : null,
    plan.length ? h("section", null, h("h2", null, "Plan"), h("ul", { class: "plan" }, plan.map((entry) =>
      h("li", { class: entry.status }, h("span", { "aria-hidden": "true" }, { completed: "✓", in_progress: "◐" }[/** @type {string} */ (entry.status)] || "○"), ` ${entry.content}`)))) : null,
    context ? h("label", null, `Context ${Math.round(context * 100)} % of ${amount(view.context.size)}`, h("meter", { min: 0, max: 1, high: 0.8, value: context })) : null,
    view.continues ? h("p", null, "Goes on from ", h("a", { href: `#/session/${part(view.continues)}` }, store.find("sessions", view.continues)?.label || short(view.continues)), ": what was said before is there.") : null,
    view.parentSessionId ? h("p", null, "Started by ", h("a", { href: `#/session/${part(view.parentSessionId)}` }, short(view.parentSessionId))) : null,
    view.worktree ? h("p", null, "Worktree ", h("code", null, view.worktree)) : null,
    delegations(view, redraw),
  ].filter(Boolean);
  fill(root, ...parts);
  return parts.length > 0;
}

/** Who asked whom, at what cost. @param {any} view @param {() => void} redraw */
function delegations(view, redraw) {
  const children = store.all("sessions").filter((each) => each.parentSessionId === view.id);
  if (!children.length) return null;
  const stamp = children.map((each) => `${each.id} ${each.state} ${each.tokens?.out}`).join();
  const known = trees.get(view.id);
  if (known?.stamp !== stamp) {
    trees.set(view.id, { stamp, tree: known?.tree });
    get(`/sessions/${part(view.id)}/tree`).then((tree) => {
      trees.set(view.id, { stamp, tree });
      redraw();
    }).catch(() => trees.delete(view.id)); // it is asked for again with the next change
  }
  return known?.tree ? h("section", { "aria-label": "Delegations" }, h("h2", null, "Delegations"), h("ul", { class: "tree" }, branch(known.tree))) : null;
}

/** @param {any} tree @returns {HTMLElement} */
function branch(tree) {
  const tokens = (tree.totalTokens?.in || 0) + (tree.totalTokens?.out || 0);
  return h("li", null, sign(tree.state), h("a", { href: `#/session/${part(tree.id)}` }, tree.label || tree.agentSlug || tree.adapterSlug),
    h("span", { class: "quiet" }, [tokens ? ` ${amount(tokens)} tokens` : "", money(tree.totalCostUsd)].filter(Boolean).join(" · ")),
    tree.children.length ? h("ul", null, tree.children.map(branch)) : null);
}

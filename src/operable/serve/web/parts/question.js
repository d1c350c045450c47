// A question in full, and its answer. An answer is bound to the digest of what is shown here.

import { ApiError, get, part, post } from "../api.js";
import { h } from "../dom.js";
import * as store from "../store.js";
import { age, exact, folder, until } from "../words.js";
import { ask } from "./dialogs.js";
import { diff } from "./diff.js";
import { form } from "./form.js";
import { problem, sign } from "./states.js";

/** The verb of a question in a list. @param {any} question */
export function verb(question) {
  const words = { execute: "run", edit: "edit", delete: "delete", move: "move", fetch: "fetch", read: "read", search: "search" };
  if (question.source === "run") return "approve";
  if (question.kind === "input") return "answer";
  if (question.kind === "budget") return "budget";
  return words[/** @type {keyof typeof words} */ (question.toolKind)] || "use";
}

/** What is asked, in one line. @param {any} question */
export function gist(question) {
  if (question.command) return question.command.split("\n")[0];
  const paths = (question.diffs || []).map((/** @type {any} */ change) => folder(change.path));
  if (paths.length > 1) return `${paths.length} files`;
  return paths[0] || question.text || question.tool || "";
}

/** @param {any} question @returns {HTMLElement} */
export function questionCard(question) {
  const isOpen = question.state === "waiting";
  return h("article", { "aria-label": `Question of ${question.agent || question.source}` },
    h("div", { class: "line" }, h("h1", null, `${question.agent || question.source} · ${question.workspace || folder(question.folder)}`),
      h("span", { class: "quiet end", title: exact(question.askedAt) }, age(question.askedAt))),
    question.isChanged ? h("p", { class: "needs_you", role: "alert" }, "● It changed since it was shown, and was not answered. Read it again.") : null,
    h("div", { class: isOpen ? "asked" : "" },
      h("p", null, isOpen ? `wants to ${verb(question)}` : [sign(question.allowed ? "allowed" : "denied", true), ` by ${question.answeredBy || "a rule"}`, question.reason ? `: ${question.reason}` : ""]),
      question.command ? h("pre", null, question.command) : null,
      question.text && question.text !== question.command ? h("p", null, question.text) : null,
      (question.diffs || []).map(diff),
      shownArguments(question),
      question.url ? h("p", null, "Address: ", h("code", null, question.url)) : null),
    h("dl", { class: "facts" },
      fact("Folder", question.folder), fact("Sandbox", sandboxOf(question)), fact("Tool", question.tool ? `${question.tool} (${question.toolKind})` : ""),
      fact("Why it asks", question.why || question.rule), fact("Limit", isOpen && question.expiresAt ? `${until(question.expiresAt)}, then it is denied` : ""),
      fact("Digest", (question.digest || "").slice(0, 16))),
    question.source === "session" ? h("p", null, h("a", { href: `#/session/${part(question.sourceId)}` }, "Open the session")) : null,
    question.source === "run" ? h("p", null, h("a", { href: `#/run/${part(question.sourceId)}` }, "Open the run")) : null,
    isOpen ? answerBar(question) : null);
}

/** Of the session that asks; a call or a run has its own contract. @param {any} question */
function sandboxOf(question) {
  const session = question.source === "session" ? store.find("sessions", question.sourceId) : null;
  return session ? session.sandbox || "none: all your rights" : "";
}

/** Arguments that the command or the diff does not show. @param {any} question */
function shownArguments(question) {
  const given = question.arguments;
  if (given === null || given === undefined || (typeof given === "object" && !Object.keys(given).length)) return null;
  return h("details", { open: !question.command && !(question.diffs || []).length }, h("summary", null, "Arguments"), h("pre", null, JSON.stringify(given, null, 2)));
}

/** @param {string} name @param {string} value */
function fact(name, value) {
  return value ? [h("dt", null, name), h("dd", null, value)] : [];
}

/** @param {any} question */
function answerBar(question) {
  const errors = h("div");
  const run = (/** @type {any} */ decision) => answer(question, decision).catch((error) => errors.replaceChildren(problem(error)));
  if (question.kind === "input" && question.schema) {
    const made = form(question.schema);
    return h("div", { class: "answer" }, made.element,
      h("button", { class: "first", type: "button", on: { click: () => made.check() && run({ allowed: true, content: made.value() }) } }, "Answer"),
      h("button", { type: "button", on: { click: () => run({ allowed: false }) } }, "Decline"), errors);
  }
  const options = (question.options || []).filter((/** @type {any} */ option) => option.kind !== "allow_once" && !String(option.kind).startsWith("reject"));
  const needsName = (question.options || []).length && (question.options || []).filter((/** @type {any} */ option) => option.kind === "allow_once").length !== 1;
  return h("div", { class: "answer" },
    needsName ? null : h("button", { class: "first", type: "button", data: { act: "allow" }, on: { click: () => run({ allowed: true }) } }, h("kbd", { "aria-hidden": "true" }, "a"), "Allow once"),
    h("button", { class: "danger", type: "button", data: { act: "deny" }, on: { click: () => deny(question, run) } }, h("kbd", { "aria-hidden": "true" }, "d"), "Deny…"),
    (question.alwaysCovers || []).map((/** @type {any} */ cover) =>
      h("button", { type: "button", data: { act: "while" }, title: cover.words, on: { click: () => run({ allowed: true, scope: cover.scope }) } }, `Allow while this session runs: ${cover.words}`)),
    (needsName ? question.options : options).map((/** @type {any} */ option) =>
      h("button", { type: "button", on: { click: () => run({ allowed: !String(option.kind).startsWith("reject"), option_id: option.id }) } }, option.name)),
    errors);
}

/** @param {any} question @param {(decision: any) => void} run */
async function deny(question, run) {
  const reason = await ask("Deny, and say why", "Deny", { hint: "The agent reads the reason. It may be empty." });
  if (reason !== null) run({ allowed: false, reason });
}

/**
 * Send an answer; the list shows it as sent until the daemon confirms it.
 * @param {any} question @param {any} decision
 */
export async function answer(question, decision) {
  store.keep("approvals", { ...question, sending: true });
  try {
    const view = await post(`/approvals/${part(question.id)}/answer`, { digest: question.digest, ...decision });
    store.keep("approvals", view);
  } catch (error) {
    const isChanged = error instanceof ApiError && error.code === "ASK_CHANGED";
    store.keep("approvals", isChanged ? { ...(await asked(question)), isChanged } : question);
    if (!isChanged) throw error;
  }
}

/** The question as it is asked now. @param {any} question */
async function asked(question) {
  const { approvals } = await get("/approvals", { state: "waiting" });
  return approvals.find((/** @type {any} */ each) => each.id === question.id) || question;
}

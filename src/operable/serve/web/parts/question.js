// A question in full, and its answer. An answer is bound to the digest of what is shown here.

import { ApiError, get, may, part, post } from "../api.js";
import { h } from "../dom.js";
import * as store from "../store.js";
import { age, count, exact, folder, until } from "../words.js";
import { ask, choose } from "./dialogs.js";
import { changesOf, diff } from "./diff.js";
import { form } from "./form.js";
import { problem, sign } from "./states.js";

/** The verb of a question in a list. @param {any} question */
export function verb(question) {
  const words = { execute: "run", edit: "edit", delete: "delete", move: "move", fetch: "fetch", read: "read", search: "search" };
  if (question.source === "run") return "run";
  if (question.kind === "input") return "answer";
  if (question.kind === "budget") return "budget";
  return words[/** @type {keyof typeof words} */ (question.toolKind)] || "use";
}

/** What is asked, in one line. @param {any} question */
export function gist(question) {
  if (question.source === "run" && !question.command) return (question.text || "").replace(/^approve /, "");
  if (question.command) return question.command.trim().replace(/\s*\n\s*/g, " ⏎ ");
  const paths = changesOf(question, question.toolKind).map((change) => folder(change.path));
  if (paths.length > 1) return `${paths.length} files`;
  return paths[0] || question.text || question.tool || "";
}

/** What an answer is for, in one line. @param {any} question */
const subject = (question) => `${asker(question)}: ${verb(question)} ${gist(question)}`;

/** Who asks, and from where. @param {any} question */
export const asker = (question) => question.agent || question.source;
/** @param {any} question */
export const where = (question) => folder(question.folder) || question.workspace || (question.source === "run" ? "flow" : "");

/** @param {any} question @returns {HTMLElement} */
export function questionCard(question) {
  const isOpen = question.state === "waiting";
  const session = question.source === "session" ? store.find("sessions", question.sourceId) : null;
  const of = `#/${question.source}/${part(question.sourceId)}`;
  const end = h("span", { class: "end-of-asked" });
  return h("article", { class: "question", "aria-label": `Question of ${asker(question)}` },
    h("div", { class: "line" }, h("h1", null, isHere(of) ? "Needs you" : [asker(question), session?.label, where(question)].filter(Boolean).join(" · ")),
      h("span", { class: "quiet end", title: exact(question.askedAt) }, age(question.askedAt))),
    question.isChanged ? h("p", { class: "needs_you", role: "alert" }, "● It changed since it was shown, and was not answered. Read it again.") : null,
    isOpen ? null : outcome(question), !isOpen && question.problem ? problem(question.problem) : null,
    h("div", { class: isOpen ? "asked" : "was-asked" },
      h("p", { class: "wants" }, isOpen ? "wants to " : "asked to ", h("strong", null, verb(question))),
      question.command ? h("pre", { class: "subject" }, question.command) : null,
      changesOf(question, question.toolKind).map(diff),
      question.url ? h("p", null, "Address: ", h("code", null, question.url)) : null,
      question.text && !isRepeated(question) ? h("p", null, question.text) : null,
      shownArguments(question), isOpen ? end : null),
    h("dl", { class: "facts" },
      fact("Folder", question.folder), fact("Sandbox", sandboxOf(question)), fact("Tool", question.tool ? `${question.tool} (${question.toolKind})` : ""),
      fact("Why it asks", question.why || question.rule), fact("Asked before", askedBefore(question)),
      fact("Limit", isOpen && question.expiresAt ? `${until(question.expiresAt)}, then it is denied` : ""),
      fact("Digest", h("span", { class: "machine", title: question.digest }, (question.digest || "").slice(0, 19)))),
    question.source !== "call" && !isHere(of) ? h("p", null, h("a", { href: of }, `Open the ${question.source}`)) : null,
    isOpen ? answerBar(question, end) : null);
}

/** Whether the words of a question say only what stands above them; of a long command they have the beginning. @param {any} question */
function isRepeated(question) {
  if (question.source === "run" && question.command) return true;
  const text = question.text.replace(/… \(\d+ more characters\)$/, "");
  const shown = question.command || changesOf(question, question.toolKind)[0]?.path;
  return Boolean(shown) && (text.includes(shown) || shown.startsWith(text.replace(/^\S+ /, "")));
}

/** @param {string} address */
const isHere = (address) => location.hash === address || location.hash.startsWith(`${address}/`);

/** Who answered, how, and when. @param {any} question */
function outcome(question) {
  const how = question.allowed === null || question.allowed === undefined ? "withdrawn" : question.allowed ? "allowed" : "denied";
  return h("p", { class: "outcome" }, sign(how, true), ` by ${question.answeredBy || "a rule, or the end of its session"}`,
    question.reason ? `: “${question.reason}”` : "", h("span", { class: "quiet" }, ` · ${exact(question.answeredAt)}`));
}

/** The same command, or the same tool, in the questions that the daemon remembers. @param {any} question */
function askedBefore(question) {
  const same = store.all("approvals").filter((each) => each.id !== question.id && each.state !== "waiting" && each.tool === question.tool && each.agent === question.agent && each.command === question.command && (question.command || gist(each) === gist(question)));
  if (!same.length) return "not since the daemon started";
  const allowed = same.filter((each) => each.allowed).length;
  return `${count(same.length, "time")}: ${allowed} allowed, ${same.length - allowed} not`;
}

/** Of the session that asks; a call or a run has its own contract. @param {any} question */
function sandboxOf(question) {
  const session = question.source === "session" ? store.find("sessions", question.sourceId) : null;
  if (!session) return "";
  return !session.sandbox || session.sandbox === "none" ? h("span", { class: "needs_you" }, "none: it has all your rights") : session.sandbox;
}

/** Arguments that the command or the diff does not show. @param {any} question */
function shownArguments(question) {
  const given = question.arguments;
  if (given === null || given === undefined) return null;
  const names = typeof given === "object" ? Object.keys(given) : [];
  if (typeof given === "object" && names.every((name) => name === "command" && given.command === question.command)) return null;
  return h("details", { open: !question.command && !changesOf(question, question.toolKind).length }, h("summary", null, question.source === "run" ? "The files that it is for" : "Arguments"), h("pre", null, JSON.stringify(given, null, 2)));
}

/** @param {string} name @param {string | HTMLElement} value */
function fact(name, value) {
  return value ? [h("dt", null, name), h("dd", null, value)] : [];
}

/** @param {any} question @param {HTMLElement} end  of what is asked */
function answerBar(question, end) {
  if (!may("approve")) return h("p", { class: "quiet" }, "This login may look and not answer: its token has no scope `approve`.");
  const errors = h("div", { class: "errors" }, question.problem ? problem(question.problem) : null);
  const run = (/** @type {any} */ decision) => void answer(question, decision);
  if (question.kind === "input" && question.schema) {
    const made = form(question.schema, question.given);
    return h("div", { class: "answer" }, made.element,
      h("button", { class: "first", type: "button", on: { click: () => made.check() && run({ allowed: true, content: made.value() }) } }, "Answer"),
      h("button", { type: "button", on: { click: () => run({ allowed: false }) } }, "Decline"), errors);
  }
  const options = question.options || [];
  const others = options.filter((/** @type {any} */ option) => option.kind !== "allow_once" && !String(option.kind).startsWith("reject"));
  const needsName = options.length && options.filter((/** @type {any} */ option) => option.kind === "allow_once").length !== 1;
  const wider = [
    ...(needsName ? [] : [{ text: "Allow this once, with a reason", decision: { allowed: true } }]),
    ...(question.alwaysCovers || []).map((/** @type {any} */ cover) => ({ text: `Allow ${cover.words}`, decision: { allowed: true, scope: cover.scope } })),
    ...(needsName ? [] : others).map((/** @type {any} */ option) => ({ text: `${option.name} (the agent decides what that covers)`, decision: { allowed: true, option_id: option.id } })),
  ];
  return h("div", { class: "answer" },
    needsName ? null : h("button", { class: "first", type: "button", disabled: question.sending, data: { act: "allow" }, on: { click: () => run({ allowed: true }) } }, h("kbd", { "aria-hidden": "true" }, "a"), question.sending ? "Sent…" : "Allow once"),
    h("button", { class: "danger", type: "button", disabled: question.sending, data: { act: "deny" }, on: { click: () => deny(question, run) } }, h("kbd", { "aria-hidden": "true" }, "d"), "Deny…"),
    wider.length ? h("button", { type: "button", disabled: question.sending, data: { act: "while" }, on: { click: () => allowWhile(question, wider, run) } }, h("kbd", { "aria-hidden": "true" }, "w"), wider.length > 1 ? "Allow while…" : "Allow, and say why…") : null,
    more(end),
    (needsName ? options : []).map((/** @type {any} */ option) =>
      h("button", { type: "button", on: { click: () => run({ allowed: !String(option.kind).startsWith("reject"), option_id: option.id }) } }, option.name)),
    errors);
}

/** Says so as long as the end of what is asked is below the buttons. @param {HTMLElement} end */
function more(end) {
  const words = h("span", { class: "needs_you", hidden: true }, "● It goes on below");
  new IntersectionObserver(([seen]) => (words.hidden = seen.isIntersecting || seen.boundingClientRect.top < 0), { rootMargin: "0px 0px -60px" }).observe(end);
  return words;
}

/** What a wider answer covers is said before it is given. @param {any} question @param {{text: string, decision: any}[]} wider @param {(decision: any) => void} run */
async function allowWhile(question, wider, run) {
  const result = await choose("Allow: how much, and why", wider.map((each, index) => [String(index), each.text]), { word: "Reason, for the record", about: subject(question) });
  if (result) run({ ...wider[Number(result.chosen)].decision, reason: result.word });
}

/** @param {any} question @param {(decision: any) => void} run */
async function deny(question, run) {
  const reason = await ask("Deny, and say why", "Deny", { hint: "The agent reads the reason. It may be empty.", about: subject(question) });
  if (reason !== null) run({ allowed: false, reason });
}

/**
 * Send an answer; the list shows it as sent until the daemon confirms it. A failure stands in the question.
 * @param {any} question @param {any} decision
 */
export async function answer(question, decision) {
  store.keep("approvals", { ...question, sending: true, problem: null });
  try {
    const view = await post(`/approvals/${part(question.id)}/answer`, { digest: question.digest, ...decision });
    store.keep("approvals", view);
  } catch (error) {
    const isChanged = error instanceof ApiError && error.code === "ASK_CHANGED";
    const known = store.find("approvals", question.id) || question;
    const now = known.state === "waiting" ? question : known; // another user may have answered meanwhile
    store.keep("approvals", isChanged ? { ...(await asked(question)), isChanged } : { ...now, problem: error, given: decision.content });
  }
}

/** The question as it is asked now. @param {any} question */
async function asked(question) {
  const { approvals } = await get("/approvals", { state: "waiting" });
  return approvals.find((/** @type {any} */ each) => each.id === question.id) || question;
}

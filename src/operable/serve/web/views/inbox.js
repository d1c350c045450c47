// Every question of every session, call and run, in one list; what is asked in full beside it.

import { may } from "../api.js";
import { fill, h } from "../dom.js";
import { ask } from "../parts/dialogs.js";
import { answer, asker, gist, questionCard, verb, where } from "../parts/question.js";
import { empty, problem, sign } from "../parts/states.js";
import * as store from "../store.js";
import { windowed } from "../parts/window.js";
import { age, exact, isToday } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Inbox", open };

/** An agent that asks, without a key. */
const ASKS = `operable agent prompt operable-agent --option provider=offline --ask kind:execute --prompt 'script:
call Bash {"command": "date"}'`;

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  let chosen = params[0] || "";
  /** @type {Set<string>} */
  const selected = new Set();
  const open = windowed("Waiting questions", (each) => each.id, row);
  const done = windowed("Answered today", (each) => each.id, row);
  const rows = open.list;
  const answered = done.list;
  const nothing = h("div");
  const past = h("div", { class: "group" });
  const detail = h("section", { class: "detail", "aria-label": "What is asked" });
  const bulk = h("div", { class: "head" });
  const errors = h("div");
  const heading = h("h1");
  const side = h("section", { class: "side" }, h("div", { class: "head" }, heading, notifyButton()), bulk, errors, nothing, rows, open.more,
    past, answered, done.more);
  const split = h("div", { class: "split" }, side, detail);
  root.append(split);
  let shown = /** @type {any} */ (null);

  const waiting = () => store.waiting().sort((left, right) => left.askedAt - right.askedAt || (left.id < right.id ? -1 : 1));

  function draw() {
    const questions = waiting();
    heading.textContent = questions.length ? `Inbox · ${questions.length} need${questions.length === 1 ? "s" : ""} you` : "Inbox";
    for (const id of selected) if (!questions.some((each) => each.id === id)) selected.delete(id);
    open.draw(questions);
    const old = store.all("approvals").filter((each) => each.state !== "waiting" && isToday(each.answeredAt || each.askedAt));
    done.draw(old.sort((left, right) => (right.answeredAt || right.askedAt) - (left.answeredAt || left.askedAt)));
    fill(past, old.length ? `Today, answered ${old.length}` : "");
    fill(nothing, questions.length ? null : empty("Nothing needs you", "Questions of agents, calls and flows come here, by themselves.", ASKS));
    bulk.hidden = !selected.size;
    fill(bulk, ...(selected.size ? [h("span", null, `${selected.size} selected`),
      h("button", { class: "first", type: "button", on: { click: () => void all(true) } }, h("kbd", { "aria-hidden": "true" }, "a"), "Allow all selected"),
      h("button", { class: "danger", type: "button", on: { click: () => void all(false) } }, h("kbd", { "aria-hidden": "true" }, "d"), "Deny all selected")] : []));
    mark();
    drawDetail();
  }

  /** @param {any} each */
  function row(each) {
    const box = each.state === "waiting" && may("approve") ? h("input", { type: "checkbox", checked: selected.has(each.id), "aria-label": `Select ${gist(each)}`, on: { change: () => toggle(each.id) } }) : null;
    return h("li", { class: "row" }, box,
      h("a", { href: `#/inbox/${encodeURIComponent(each.id)}`, on: { click: (/** @type {Event} */ event) => { event.preventDefault(); choose(each.id); } } },
        sign(each.state === "waiting" ? "waiting" : each.allowed ? "allowed" : each.allowed === false ? "denied" : "withdrawn"),
        h("span", { class: "name" }, asker(each)), h("span", { class: "where" }, [named(each), where(each)].filter(Boolean).join(" · ")),
        h("span", { class: "what" }, h("span", { class: "quiet" }, `${verb(each)} `), h("span", { class: "machine" }, gist(each))),
        h("span", { class: "age", title: exact(each.askedAt) }, each.sending ? "sent…" : [each.answeredBy, age(each.answeredAt || each.askedAt)].filter(Boolean).join(" · "))));
  }

  /** The name of its session, which tells it from others of the same agent in the same folder. @param {any} each */
  const named = (each) => (each.source === "session" ? store.find("sessions", each.sourceId)?.label : "");

  function mark() {
    for (const list of [rows, answered]) {
      for (const item of list.children) item.setAttribute("aria-current", /** @type {HTMLElement} */ (item).dataset.key === chosen ? "true" : "false");
    }
    split.classList.toggle("open", Boolean(chosen));
  }

  function drawDetail() {
    const question = chosen ? store.find("approvals", chosen) : null;
    if (question === shown && detail.childElementCount) return;
    shown = question;
    const back = h("button", { type: "button", class: "plain back", on: { click: () => choose("") } }, "‹ Inbox");
    if (question) fill(detail, back, questionCard(question));
    else if (chosen) fill(detail, back, problem({ message: "this question is gone", hint: "it was withdrawn, or its session ended; the audit has what became of it" }));
    else fill(detail, waiting().length ? empty("Choose a question", "Arrow keys move, a allows, d denies, w allows more, x selects several.") : null);
  }

  /** @param {string} id */
  function choose(id) {
    chosen = id;
    history.replaceState(null, "", `#/inbox${id ? `/${encodeURIComponent(id)}` : ""}`);
    mark();
    drawDetail();
  }

  /** @param {string} id */
  function toggle(id) {
    if (!selected.delete(id)) selected.add(id);
    for (const item of rows.children) {
      const box = /** @type {HTMLInputElement | null} */ (item.querySelector("input[type=checkbox]"));
      if (box) box.checked = selected.has(/** @type {HTMLElement} */ (item).dataset.key || "");
    }
    draw();
  }

  /** Each answer is bound to what its own row shows; what changed meanwhile is not answered. @param {boolean} allowed */
  async function all(allowed) {
    const reason = allowed ? "" : await ask("Deny all of them, and say why", "Deny", { hint: "The agents read the reason. It may be empty." });
    if (reason === null) return;
    const questions = waiting().filter((each) => selected.has(each.id));
    await Promise.all(questions.map((each) => answer(each, { allowed, reason })));
    selected.clear();
    fill(errors, ...questions.flatMap((each) => store.find("approvals", each.id)?.problem || []).map(problem));
    draw();
  }

  /** @param {number} step */
  function move(step) {
    const ids = waiting().map((each) => each.id);
    if (!ids.length) return;
    const at = ids.indexOf(chosen);
    choose(ids[Math.max(0, Math.min(ids.length - 1, at + step))]);
    open.reach(chosen);
    rows.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} act */
  const press = (act) => () => /** @type {HTMLElement | null} */ (detail.querySelector(`[data-act="${act}"]`))?.click();

  /** The selected questions, else the one that is shown. @param {boolean} allowed @param {string} act */
  const both = (allowed, act) => () => (selected.size ? void all(allowed) : press(act)());

  const ends = [store.subscribe("approvals", draw), store.subscribe("clock", draw)];
  if (!chosen && window.matchMedia("(min-width: 861px)").matches) chosen = waiting()[0]?.id || "";
  draw();
  return {
    keys: {
      ArrowDown: () => move(1), ArrowUp: () => move(-1), a: both(true, "allow"), d: both(false, "deny"), w: press("while"),
      x: () => waiting().some((each) => each.id === chosen) && toggle(chosen),
    },
    close: () => ends.forEach((end) => end()),
  };
}

/** Notifications come only after the person asked for them. */
function notifyButton() {
  if (!("Notification" in window) || Notification.permission !== "default") return null;
  const button = h("button", { type: "button", class: "plain end", on: { click: async () => {
    await Notification.requestPermission();
    button.remove();
  } } }, "Notify me");
  return button;
}

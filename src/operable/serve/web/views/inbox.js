// Every question of every session, call and run, in one list; what is asked in full beside it.

import { fill, h, reconcile } from "../dom.js";
import { answer, gist, questionCard, verb } from "../parts/question.js";
import { empty, problem, sign } from "../parts/states.js";
import * as store from "../store.js";
import { age, exact, folder } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Inbox", open };

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  let chosen = params[0] || "";
  /** @type {Set<string>} */
  const selected = new Set();
  const rows = h("ul", { class: "rows", "aria-label": "Waiting questions" });
  const answered = h("ul", { class: "rows", "aria-label": "Answered today" });
  const detail = h("section", { class: "detail", "aria-label": "What is asked" });
  const bulk = h("div", { class: "head" });
  const errors = h("div");
  const heading = h("h1");
  const side = h("section", { class: "side" }, h("div", { class: "head" }, heading, notifyButton()), bulk, errors, rows,
    h("div", { class: "group" }, "Today, answered"), answered);
  const split = h("div", { class: "split" }, side, detail);
  root.append(split);
  let shown = /** @type {any} */ (null);

  const waiting = () => store.waiting().sort((left, right) => (left.askedAt < right.askedAt ? -1 : 1));

  function draw() {
    const open = waiting();
    heading.textContent = open.length ? `Inbox · ${open.length} need${open.length === 1 ? "s" : ""} you` : "Inbox";
    for (const id of selected) if (!open.some((each) => each.id === id)) selected.delete(id);
    reconcile(rows, open, (each) => each.id, row);
    const old = store.all("approvals").filter((each) => each.state !== "waiting").sort((left, right) => ((left.answeredAt || left.askedAt) < (right.answeredAt || right.askedAt) ? 1 : -1));
    reconcile(answered, old.slice(0, 200), (each) => each.id, row);
    if (!open.length && !rows.querySelector(".state")) rows.replaceChildren(h("li", null, empty("Nothing needs you", "Questions of agents, calls and flows come here.", "operable agent prompt AGENT --prompt 'hello'")));
    fill(bulk, ...(selected.size ? [h("span", null, `${selected.size} selected`),
      h("button", { class: "first", type: "button", on: { click: () => void all(true) } }, "Allow all selected"),
      h("button", { class: "danger", type: "button", on: { click: () => void all(false) } }, "Deny all selected")] : []));
    mark();
    drawDetail();
  }

  /** @param {any} each */
  function row(each) {
    const box = each.state === "waiting" ? h("input", { type: "checkbox", checked: selected.has(each.id), "aria-label": `Select ${gist(each)}`, on: { change: () => toggle(each.id) } }) : null;
    return h("li", { class: "row" }, box,
      h("a", { href: `#/inbox/${encodeURIComponent(each.id)}`, on: { click: (/** @type {Event} */ event) => { event.preventDefault(); choose(each.id); } } },
        sign(each.state === "waiting" ? "waiting" : each.allowed ? "allowed" : "denied"),
        h("span", { class: "name" }, each.agent || each.source), h("span", { class: "where" }, each.workspace || folder(each.folder)),
        h("span", { class: "what" }, h("span", { class: "quiet" }, `${verb(each)} `), h("span", { class: "machine" }, gist(each))),
        h("span", { class: "age", title: exact(each.askedAt) }, each.sending ? "sent…" : each.answeredBy || age(each.askedAt))));
  }

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
    if (!question) fill(detail, chosen ? [back, problem({ message: "this question is gone", hint: "it was withdrawn, or its session ended" })][1] : empty("Choose a question", "Arrow keys move, a allows, d denies, x selects several."));
    else fill(detail, back, questionCard(question));
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
    const questions = waiting().filter((each) => selected.has(each.id));
    const results = await Promise.allSettled(questions.map((each) => answer(each, { allowed })));
    selected.clear();
    fill(errors, ...results.flatMap((each) => (each.status === "rejected" ? [problem(each.reason)] : [])));
    draw();
  }

  /** @param {number} step */
  function move(step) {
    const ids = waiting().map((each) => each.id);
    if (!ids.length) return;
    const at = ids.indexOf(chosen);
    choose(ids[Math.max(0, Math.min(ids.length - 1, at + step))]);
    rows.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} act */
  const press = (act) => () => /** @type {HTMLElement | null} */ (detail.querySelector(`[data-act="${act}"]`))?.click();

  const ends = [store.subscribe("approvals", draw), store.subscribe("clock", draw)];
  if (!chosen && window.matchMedia("(min-width: 861px)").matches) chosen = waiting()[0]?.id || "";
  draw();
  return {
    keys: {
      ArrowDown: () => move(1), ArrowUp: () => move(-1), a: press("allow"), d: press("deny"), w: press("while"),
      x: () => chosen && toggle(chosen),
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

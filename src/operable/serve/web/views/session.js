// One session: what was said and done, questions where they came up, and the box for the next message.

import { get, part, post } from "../api.js";
import { fill, h } from "../dom.js";
import { Transcript } from "../parts/transcript.js";
import { empty, problem, sign } from "../parts/states.js";
import { questionCard } from "../parts/question.js";
import * as store from "../store.js";
import { followSession } from "../stream.js";
import { amount, folder, money } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Session", open };

const PAGE = 500; // events that are read at once
const NEAR = 120; // pixels from the end that count as the end

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  const id = params[0] || "";
  const wanted = Number(params[1]) || 0;
  const head = h("div", { class: "head" });
  const errors = h("div", { role: "alert" });
  const earlier = h("div");
  const box = h("div", { class: "transcript" });
  const questions = h("div");
  const beside = h("aside", { class: "beside", "aria-label": "Plan and delegations" });
  const chip = h("div", { class: "follow" });
  const composer = h("div", { class: "composer" });
  root.append(h("div", { class: "session wide" }, h("div", null, head, errors, earlier, box, questions, chip, composer), beside));
  const transcript = new Transcript(box);
  let following = true;
  let first = 0;
  let stop = () => {};
  let isClosed = false;

  const session = () => store.find("sessions", id);

  async function begin() {
    if (!session()) store.keep("sessions", await get(`/sessions/${part(id)}`));
    // The newest part, or that around the wanted event; the stream goes on where it ends.
    const page = await get(`/sessions/${part(id)}/events`, wanted ? { after: Math.max(0, wanted - 50), limit: PAGE } : { last: PAGE, limit: PAGE });
    if (isClosed) return;
    for (const record of page.events) transcript.take(record.event.type, record.event, record.id, record.at);
    const after = page.last_id;
    first = page.events.length ? page.events[0].id - 1 : 0;
    drawEarlier();
    stop = followSession(id, after, (kind, data, cursor) => {
      if (kind === "gap") transcript.gap(data);
      else if (kind !== "status") transcript.take(kind, data, cursor, Date.now());
      if (following) toEnd();
    }, () => !["ended", "failed"].includes(session()?.state));
    if (wanted) transcript.show(wanted);
    else toEnd();
  }

  function drawEarlier() {
    fill(earlier, first > 0 ? h("button", { type: "button", on: { click: () => void more() } }, `Show earlier (${first} events)`) : null);
  }

  async function more() {
    const from = Math.max(0, first - PAGE);
    const page = await get(`/sessions/${part(id)}/events`, { after: from, limit: first - from });
    transcript.before(page.events.filter((/** @type {any} */ record) => record.id <= first));
    first = from;
    drawEarlier();
  }

  function drawHead() {
    const view = session();
    if (!view) return;
    const context = view.context?.size ? view.context.used / view.context.size : 0;
    const isAlive = !["ended", "failed"].includes(view.state);
    fill(head, h("a", { href: "#/sessions" }, "‹"), sign(view.state, true), h("h1", null, view.label || view.adapterSlug), h("span", { class: "quiet", title: view.cwd }, folder(view.cwd)),
      h("span", { class: "quiet" }, [view.mode, view.model, view.sandbox ? `sandbox: ${view.sandbox}` : "no sandbox: all your rights"].filter(Boolean).join(" · ")),
      h("span", { class: "quiet end" }, [amount((view.tokens?.in || 0) + (view.tokens?.out || 0)) + " tokens", money(view.costUsd)].filter(Boolean).join(" · ")),
      isAlive ? h("button", { type: "button", class: "plain", on: { click: () => act("kill") } }, "End") : h("button", { type: "button", class: "plain", on: { click: () => act("resume") } }, "Resume"),
      h("button", { type: "button", class: "plain", on: { click: () => act("fork") } }, "Fork"));
    fill(beside,
      transcript.plan.length ? [h("h2", null, "Plan"), h("ul", { class: "plan" }, transcript.plan.map((/** @type {any} */ entry) => h("li", { class: entry.status }, `${{ completed: "✓", in_progress: "◐" }[/** @type {string} */ (entry.status)] || "○"} ${entry.content}`)))][1] : null,
      context ? h("label", null, `Context ${Math.round(context * 100)} %`, h("meter", { min: 0, max: 1, high: 0.8, value: context })) : null,
      view.error ? problem({ message: view.error }) : null);
    const own = store.waiting().filter((each) => each.source === "session" && each.sourceId === id);
    if (own.map((each) => each.id + each.digest + each.sending).join() !== questions.dataset.shown) {
      questions.dataset.shown = own.map((each) => each.id + each.digest + each.sending).join();
      fill(questions, ...own.map(questionCard));
      if (own.length && following) toEnd();
    }
    drawComposer(view, isAlive);
  }

  let composed = "";
  /** @param {any} view @param {boolean} isAlive */
  function drawComposer(view, isAlive) {
    const busy = view.state === "working" || view.state === "needs_you";
    const key = `${isAlive} ${busy} ${view.queued || 0}`;
    if (composed === key) return;
    composed = key;
    const before = /** @type {HTMLTextAreaElement | null} */ (composer.querySelector("textarea"));
    if (!isAlive) {
      fill(composer, h("p", { class: "quiet" }, "This session has ended. Resume it to go on, or fork it to try another way."));
      return;
    }
    const text = /** @type {HTMLTextAreaElement} */ (h("textarea", { "aria-label": "Message", rows: 2, value: before?.value || "", placeholder: busy ? "Enter queues it, Shift+Enter is a new line" : "Enter sends it, Shift+Enter is a new line" }));
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        void send(text, busy ? { queue: true } : {});
      }
    });
    fill(composer, text, h("div", { class: "line" },
      h("button", { class: "first", type: "button", on: { click: () => void send(text, busy ? { queue: true } : {}) } }, busy ? "Queue" : "Send"),
      busy ? h("button", { type: "button", on: { click: () => void send(text, { interrupt: true }) } }, "Interrupt and send") : null,
      busy ? h("button", { type: "button", class: "danger", on: { click: () => act("interrupt") } }, h("kbd", { "aria-hidden": "true" }, "."), "Interrupt") : null,
      view.queued ? h("span", { class: "quiet" }, `${view.queued} queued`) : null));
    if (before && document.activeElement === document.body) text.focus();
  }

  /** @param {HTMLTextAreaElement} text @param {any} how */
  async function send(text, how) {
    const prompt = text.value;
    if (!prompt.trim()) return;
    text.value = "";
    try {
      await post(`/sessions/${part(id)}/prompt`, { prompt, ...how });
      errors.replaceChildren();
    } catch (error) {
      text.value = prompt; // nothing that was typed is lost
      fill(errors, problem(error));
    }
  }

  /** @param {string} verb */
  async function act(verb) {
    try {
      const view = await post(`/sessions/${part(id)}/${verb}`);
      if (view.id && view.id !== id && view.status) location.hash = `#/session/${part(view.id)}`;
      errors.replaceChildren();
    } catch (error) {
      fill(errors, problem(error));
    }
  }

  const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight });

  function scrolled() {
    following = document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR;
    fill(chip, following ? null : h("button", { type: "button", on: { click: () => { following = true; toEnd(); } } }, "↓ newest"));
  }

  const ends = [store.subscribe("sessions", drawHead), store.subscribe("approvals", drawHead)];
  transcript.changed = drawHead;
  window.addEventListener("scroll", scrolled, { passive: true });
  if (!id) fill(box, empty("No session", "Choose one in the list."));
  else begin().then(drawHead).catch((error) => fill(errors, problem(error)));
  drawHead();
  return {
    title: session()?.label || session()?.adapterSlug || "Session",
    close: () => {
      isClosed = true;
      stop();
      ends.forEach((end) => end());
      window.removeEventListener("scroll", scrolled);
    },
    keys: {
      ".": () => void act("interrupt"), g: toEnd, r: () => composer.querySelector("textarea")?.focus(),
      o: () => transcript.openAll(), a: () => press("allow"), d: () => press("deny"), w: () => press("while"),
    },
  };

  /** @param {string} name */
  function press(name) {
    /** @type {HTMLElement | null} */ (questions.querySelector(`[data-act="${name}"]`))?.click();
  }
}

// One session: what was said and done, questions where they came up, and the box for the next message.

import { get, may, part, post } from "../api.js";
import { fill, h } from "../dom.js";
import { drawBeside } from "../parts/beside.js";
import { composer, isOver } from "../parts/composer.js";
import { questionCard } from "../parts/question.js";
import { empty, problem, sign, skeleton } from "../parts/states.js";
import { Transcript } from "../parts/transcript.js";
import * as store from "../store.js";
import { followSession } from "../stream.js";
import { amount, count, folder, money } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Session", open };

const PAGE = 500; // events that are read at once
const NEAR = 120; // pixels from the end that count as the end

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  const id = params[0] || "";
  const wanted = Number(params[1]) || 0;
  const head = h("div", { class: "head" });
  const errors = h("div", { class: "errors", role: "alert" });
  const earlier = h("div");
  const box = h("div", { class: "transcript" });
  const questions = h("div", { class: "questions" });
  const beside = h("aside", { class: "beside", "aria-label": "Plan and delegations" });
  const chip = h("div", { class: "follow" });
  const writing = h("div", { class: "composer" });
  const place = h("div", { class: "session" }, h("div", { class: "column" }, head, errors, earlier, box, questions, chip, writing), beside);
  root.append(place);
  const transcript = new Transcript(box, id);
  const slow = setTimeout(() => box.childElementCount || fill(earlier, skeleton()), 200);
  let following = !wanted;
  let unseen = 0;
  let first = 0;
  let stop = () => {};
  let isClosed = false;
  /** The question that a key brought into view. */
  let come = /** @type {Element | null} */ (null);

  const written = composer(writing);

  const session = () => store.find("sessions", id);

  async function begin() {
    if (!session()) store.keep("sessions", await get(`/sessions/${part(id)}`));
    // The newest part, or that around the wanted event; the stream goes on where it ends.
    const page = await get(`/sessions/${part(id)}/events`, wanted ? { after: Math.max(0, wanted - 50), limit: PAGE } : { last: PAGE, limit: PAGE });
    if (isClosed) return;
    for (const record of page.events) transcript.take(record.event.type, record.event, record.id, record.at);
    const after = page.last_id;
    first = page.events.length ? page.events[0].id - 1 : 0;
    clearTimeout(slow);
    drawEarlier();
    stop = followSession(id, after, (kind, data, cursor) => {
      if (kind === "gap") transcript.gap(data);
      else if (kind !== "status") transcript.take(kind, data, cursor, Date.now());
      if (!following) {
        unseen += 1;
        drawChip();
      }
    }, () => !["ended", "failed"].includes(session()?.state));
    if (wanted) transcript.show(wanted);
    else toEnd();
  }

  /** The session or its log cannot be read. @param {any} error */
  function failed(error) {
    clearTimeout(slow);
    following = false;
    earlier.replaceChildren();
    if (!session()) fill(head, h("a", { href: "#/sessions", "aria-label": "All sessions" }, "‹"), h("h1", null, "Session"));
    fill(errors, problem(error));
  }

  function drawEarlier() {
    fill(earlier, first > 0 ? h("button", { type: "button", on: { click: () => void more() } }, `Show earlier (${count(first, "event")})`) : null);
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
    const isAlive = !isOver(view);
    const tokens = (view.tokens?.in || 0) + (view.tokens?.out || 0);
    const isOpen = !view.sandbox || view.sandbox === "none";
    fill(head, h("a", { href: "#/sessions", "aria-label": "All sessions" }, "‹"), sign(view.state, true), h("h1", null, view.label || view.adapterSlug),
      h("span", { class: "quiet", title: view.cwd }, [view.label ? view.adapterSlug : "", folder(view.cwd), view.mode, view.model].filter(Boolean).join(" · ")),
      h("span", { class: isOpen ? "needs_you" : "quiet" }, isOpen ? "no sandbox: all your rights" : `sandbox: ${view.sandbox}`),
      h("span", { class: "quiet end", title: `${view.tokens?.in || 0} in, ${view.tokens?.out || 0} out` }, [tokens ? `${amount(tokens)} tokens` : "", money(view.costUsd)].filter(Boolean).join(" · ")),
      may("prompt") ? h("span", { class: "line" },
        h("button", { type: "button", class: "plain", on: { click: () => act(isAlive ? "kill" : "resume") } }, isAlive ? "End" : "Resume"),
        h("button", { type: "button", class: "plain", on: { click: () => act("fork") } }, "Fork")) : null);
    place.classList.toggle("wide", drawBeside(beside, view, transcript, drawHead));
    const own = store.waiting().filter((each) => each.source === "session" && each.sourceId === id).sort((left, right) => left.askedAt - right.askedAt);
    const stamp = own.map((each) => `${each.id} ${each.digest} ${each.sending} ${each.problem?.message}`).join();
    if (stamp !== questions.dataset.shown) {
      questions.dataset.shown = stamp;
      fill(questions, ...own.map(questionCard));
    }
    written.draw(view);
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
    drawChip();
  }

  function drawChip() {
    if (following) unseen = 0;
    fill(chip, following ? null : h("button", { type: "button", on: { click: () => { following = true; drawChip(); toEnd(); } } }, unseen ? `↓ ${count(unseen, "new event")}` : "↓ newest"));
  }

  // Text is drawn a frame after it came: the size of the column is what one follows.
  const growth = new ResizeObserver(() => following && toEnd());
  growth.observe(/** @type {HTMLElement} */ (place.firstElementChild));
  const ends = [store.subscribe("sessions", drawHead), store.subscribe("approvals", drawHead)];
  transcript.changed = drawHead;
  window.addEventListener("scroll", scrolled, { passive: true });
  if (!id) fill(box, empty("No session", "Choose one in the list."));
  else begin().then(drawHead).catch(failed);
  drawHead();
  return {
    title: session()?.label || session()?.adapterSlug || "Session",
    close: () => {
      isClosed = true;
      clearTimeout(slow);
      growth.disconnect();
      stop();
      ends.forEach((end) => end());
      window.removeEventListener("scroll", scrolled);
    },
    keys: {
      ".": () => void act("interrupt"), g: toEnd, r: () => written.focus(),
      o: () => transcript.openAll(), a: () => press("allow"), d: () => press("deny"), w: () => press("while"),
    },
  };

  /** The keys are for the first question, and only when one sees what it asks: else it comes into view. @param {string} name */
  function press(name) {
    const card = questions.firstElementChild;
    const asked = card?.querySelector(".asked");
    if (!card || !asked) return;
    const { top, bottom } = asked.getBoundingClientRect();
    const isSeen = top >= head.getBoundingClientRect().bottom && bottom <= writing.getBoundingClientRect().top;
    if (isSeen || card === come) return /** @type {HTMLElement | null} */ (card.querySelector(`[data-act="${name}"]`))?.click();
    come = card;
    following = false;
    card.scrollIntoView();
  }
}

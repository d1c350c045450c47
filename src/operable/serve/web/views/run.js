// One run: its states over time, its attempts, its output, and what may be done about it.

import { get, may, part, post } from "../api.js";
import { fill, h } from "../dom.js";
import { questionCard } from "../parts/question.js";
import { copyable, problem, sign, skeleton } from "../parts/states.js";
import { timeline } from "../parts/timeline.js";
import { folded } from "../parts/toolcall.js";
import * as store from "../store.js";
import { age, exact } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Run", open };

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  const id = params[0] || "";
  const body = h("div", null, skeleton());
  const errors = h("div", { role: "alert" });
  root.append(errors, body);
  const act = async (/** @type {string} */ verb) => {
    try {
      const run = await post(`/runs/${part(id)}/${verb}`);
      if (run.id !== id) location.hash = `#/run/${part(run.id)}`;
      else await draw();
    } catch (error) {
      fill(errors, problem(error));
    }
  };
  const draw = async () => {
    const run = await get(`/runs/${part(id)}`);
    const isOver = run.isFinal;
    const questions = store.waiting().filter((each) => each.source === "run" && each.sourceId === id);
    fill(body, h("div", { class: "head" }, h("a", { href: run.flowId ? `#/flows/${part(run.flowId)}` : "#/flows", "aria-label": "The flow" }, "‹"), sign(run.state, true), h("h1", null, run.name), h("span", { class: "quiet", title: exact(run.createdAt) }, age(run.createdAt)),
      h("span", { class: "quiet" }, [run.flowId, run.cause, run.attempts > 1 ? `${run.attempts} attempts` : ""].filter(Boolean).join(" · ")),
      !may("prompt") ? null : isOver ? h("button", { type: "button", on: { click: () => void act("retry") } }, "Run again") : h("button", { type: "button", class: "danger", on: { click: () => void act("cancel") } }, "Cancel")),
    h("div", { class: "head" }, h("div", { class: "grow" }, run.reason ? problem({ message: run.reason }) : null, ...questions.map(questionCard),
      run.timeline?.length ? timeline(run.timeline) : null, h("h2", null, "Output"), folded(run.output || ""), run.outputCut ? h("p", { class: "quiet" }, "This is its beginning; the rest is in the log.") : null,
      h("p", { class: "quiet apart" }, "The same in a terminal:"), copyable(`operable engine logs ${id}`))));
  };
  draw().catch((error) => fill(body, problem(error)));
  const again = () => void draw().catch((error) => fill(errors, problem(error)));
  const ends = [store.subscribe("runs", () => { if (store.find("runs", id)) again(); }), store.subscribe("approvals", again)];
  const press = (/** @type {string} */ name) => () => /** @type {HTMLElement | null} */ (body.querySelector(`[data-act="${name}"]`))?.click();
  return { close: () => ends.forEach((end) => end()), keys: { a: press("allow"), d: press("deny") } };
}

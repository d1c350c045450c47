// Flows: what triggers what, how the last runs ended, when the next ones are due.

import { get, may, part, post } from "../api.js";
import { fill, h } from "../dom.js";
import { graph } from "../parts/graph.js";
import { empty, problem, sign, skeleton } from "../parts/states.js";
import { strip } from "../parts/timeline.js";
import * as store from "../store.js";
import { age, count, exact, until } from "../words.js";

/** @type {import("../app.js").View} */
export const VIEW = { title: "Flows", open };

/** @param {HTMLElement} root @param {string[]} params */
function open(root, params) {
  const body = h("div", null, skeleton());
  const errors = h("div", { role: "alert" });
  root.append(errors, body);
  const draw = () => (params[0] ? one(body, errors, params[0]) : list(body)).catch((error) => fill(body, problem(error)));
  void draw();
  const end = store.subscribe("runs", () => void draw());
  return { close: end };
}

/** @param {HTMLElement} body */
async function list(body) {
  const { flows } = await get("/flows");
  if (!flows.length) return fill(body, empty("No flows are applied", "Write a manifest, apply it, start a worker.", "operable flow apply flow.json && operable engine start"));
  return fill(body, h("div", { class: "head" }, h("h1", null, "Flows")), h("ul", { class: "rows" }, flows.map((/** @type {any} */ flow) => h("li", { class: "row" },
    h("a", { href: `#/flows/${part(flow.id)}` }, sign(flow.state || "idle"), h("span", { class: "name" }, flow.id), h("span", { class: "what quiet" }, count(flow.jobs, "task")),
      h("span", { class: "age", title: exact(flow.nextAt) }, flow.nextAt ? until(flow.nextAt) : "")), strip(flow.lastRuns || [])))));
}

/** @param {HTMLElement} body @param {HTMLElement} errors @param {string} id */
async function one(body, errors, id) {
  const flow = await get(`/flows/${part(id)}`);
  const trigger = async (/** @type {string} */ job) => {
    try {
      const run = await post(`/jobs/${part(job)}/trigger`);
      location.hash = `#/run/${part(run.id)}`;
    } catch (error) {
      fill(errors, problem(error));
    }
  };
  const nodes = flow.jobs.map((/** @type {any} */ job) => {
    const run = shown(job);
    return { id: job.id, title: job.name, state: run?.state, note: job.nextAt ? until(job.nextAt) : "", address: run ? `#/run/${part(run.id)}` : null };
  });
  fill(body, h("div", { class: "head" }, h("a", { href: "#/flows", "aria-label": "All flows" }, "‹"), h("h1", null, flow.id)), graph(nodes, flow.edges || []),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tasks" }, h("table", { class: "table tasks" }, h("thead", null, h("tr", null, ["Task", "Last run", "Next", "Last 30", ""].map((text) => h("th", null, text)))),
      h("tbody", null, flow.jobs.map((/** @type {any} */ job) => h("tr", null, h("td", null, job.name), h("td", null, lastRun(shown(job))),
        h("td", { title: exact(job.nextAt) }, job.nextAt ? until(job.nextAt) : job.state === "enabled" ? after(job, flow) : job.state), h("td", null, strip(job.lastRuns || [])),
        h("td", null, may("prompt") ? h("button", { type: "button", on: { click: () => void trigger(job.id) } }, "Run now") : null)))))));
}

/** The run that a task is judged by: one that still goes on or waits before the newest one. @param {any} job */
const shown = (job) => (job.lastRuns || []).find((/** @type {any} */ run) => !run.isFinal) || job.lastRun;

/** @param {any} run */
function lastRun(run) {
  if (!run) return h("span", { class: "quiet" }, "never");
  return h("a", { href: `#/run/${part(run.id)}` }, sign(run.state, true), h("span", { class: "quiet" }, ` · ${age(run.endedAt || run.createdAt)}`));
}

/** What a task without a schedule comes after. @param {any} job @param {any} flow */
function after(job, flow) {
  const edge = (flow.edges || []).find((/** @type {any} */ each) => each.to === job.id);
  const parent = edge && flow.jobs.find((/** @type {any} */ each) => each.id === edge.from);
  const ends = { success: "succeeds", failure: "fails", complete: "ends" };
  return parent ? `when ${parent.name} ${ends[/** @type {keyof typeof ends} */ (edge.kind)] || edge.kind}` : job.trigger || "";
}

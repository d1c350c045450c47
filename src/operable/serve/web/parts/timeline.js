// Spans of time as bars below each other.

import { h } from "../dom.js";
import { exact, moment, span, STATES } from "../words.js";

/** @param {{name: string, state: string, begin: string | number, end?: string | number | null}[]} parts */
export function timeline(parts) {
  const now = Date.now();
  const times = parts.map((each) => ({ ...each, from: moment(each.begin) ?? now, to: moment(each.end) ?? now }));
  const begin = Math.min(...times.map((each) => each.from));
  const whole = Math.max(1, Math.max(...times.map((each) => each.to)) - begin);
  return h("div", { class: "timeline", role: "img", "aria-label": times.map((each) => `${each.name}: ${span((each.to - each.from) / 1000)}`).join(", ") }, times.flatMap((each) => {
    const bar = h("div", { class: `bar ${each.state}`, title: `${exact(each.from)} to ${each.end ? exact(each.to) : "now"}` });
    bar.style.left = `${((each.from - begin) / whole) * 100}%`;
    bar.style.width = `${((each.to - each.from) / whole) * 100}%`;
    return [h("div", null, each.name), h("div", { class: "track" }, bar), h("div", { class: "quiet" }, span((each.to - each.from) / 1000))];
  }));
}

/** The last runs as squares, oldest first. @param {any[]} runs */
export function strip(runs) {
  return h("span", { class: "strip", role: "group", "aria-label": `${runs.length} last runs` }, runs.map((run) =>
    h("a", { class: run.state, href: `#/run/${encodeURIComponent(run.id)}`, title: `${run.state} ${exact(run.createdAt)}`, "aria-label": `run ${run.state}` }, (STATES[run.state] || ["○"])[0])));
}

// A change of a file as lines: from two texts, or from a patch. Bounded: a change that is too large shows its two sides.

import { h } from "../dom.js";
import { count } from "../words.js";

const CONTEXT = 3;
const LARGEST = 4_000_000; // cells of the table; 2,000 lines against 2,000
const SHOWN = 2_000; // lines

/** @typedef {{path?: string, oldText?: string | null, newText?: string | null, patch?: string, digest?: string}} Change */

/**
 * The changes that a call shows beside its arguments, or that its arguments are.
 * @param {{arguments?: any, diffs?: any[]}} call @param {string} kind @returns {Change[]}
 */
export function changesOf(call, kind) {
  const given = call.arguments || {};
  const whole = (call.diffs || []).filter((change) => change.newText !== undefined || change.patch !== undefined);
  if (whole.length) return whole;
  const path = given.file_path || given.path;
  if (path && typeof given.old_string === "string" && typeof given.new_string === "string") return [{ path, oldText: given.old_string, newText: given.new_string }];
  if (path && typeof given.content === "string" && kind === "edit") return [{ path, newText: given.content }];
  return [];
}

/** @param {Change} change @returns {HTMLElement} */
export function diff(change) {
  const lines = change.patch !== undefined ? ofPatch(change.patch) : between(change.oldText || "", change.newText || "");
  const added = lines.filter((line) => line[0] === "added").length;
  const removed = lines.filter((line) => line[0] === "removed").length;
  const rest = lines.length - SHOWN;
  return h("div", { class: "diff" },
    h("div", { class: "file" }, change.path || "", h("span", { class: "quiet" }, `  +${added} −${removed}`),
      change.oldText === null || change.oldText === undefined ? (change.patch === undefined ? " new file" : "") : ""),
    h("div", { class: "rows-of-diff", tabindex: "0" }, lines.slice(0, SHOWN).map(([kind, text]) =>
      h("div", { class: kind }, `${{ added: "+", removed: "−" }[kind] || " "} ${text}`)),
    rest > 0 ? h("div", { class: "hunk" }, `${count(rest, "more line")}`) : null));
}

/** @param {string} patch @returns {[string, string][]} */
function ofPatch(patch) {
  return patch.split("\n").map((line) => {
    if (/^(@@|diff |index |--- |\+\+\+ |\*\*\*)/.test(line)) return ["hunk", line];
    if (line.startsWith("+")) return ["added", line.slice(1)];
    if (line.startsWith("-")) return ["removed", line.slice(1)];
    return ["same", line.startsWith(" ") ? line.slice(1) : line];
  });
}

/** A line end is not a line. @param {string} text */
const linesOf = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** @param {string} before @param {string} after @returns {[string, string][]} */
export function between(before, after) {
  const left = linesOf(before);
  const right = linesOf(after);
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  const middle = changes(left.slice(head, left.length - tail), right.slice(head, right.length - tail));
  /** @type {[string, string][]} */
  const all = [
    ...left.slice(0, head).map((line) => /** @type {[string, string]} */ (["same", line])), ...middle,
    ...left.slice(left.length - tail).map((line) => /** @type {[string, string]} */ (["same", line])),
  ];
  return folded(all);
}

/** The longest common subsequence of lines. @param {string[]} left @param {string[]} right @returns {[string, string][]} */
function changes(left, right) {
  if (left.length * right.length > LARGEST) {
    return [...left.map((line) => /** @type {[string, string]} */ (["removed", line])), ...right.map((line) => /** @type {[string, string]} */ (["added", line]))];
  }
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = left[i] === right[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  /** @type {[string, string][]} */
  const found = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      found.push(["same", left[i]]);
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      found.push(["removed", left[i]]);
      i += 1;
    } else {
      found.push(["added", right[j]]);
      j += 1;
    }
  }
  return found;
}

/** Without equal lines that are far from a change. @param {[string, string][]} lines @returns {[string, string][]} */
function folded(lines) {
  const near = new Uint8Array(lines.length);
  lines.forEach(([kind], index) => {
    if (kind === "same") return;
    for (let at = Math.max(0, index - CONTEXT); at <= Math.min(lines.length - 1, index + CONTEXT); at += 1) near[at] = 1;
  });
  /** @type {[string, string][]} */
  const found = [];
  let hidden = 0;
  lines.forEach((line, index) => {
    if (near[index]) {
      if (hidden) found.push(["hunk", `… ${count(hidden, "equal line")}`]);
      hidden = 0;
      found.push(line);
    } else hidden += 1;
  });
  if (hidden) found.push(["hunk", `… ${count(hidden, "equal line")}`]);
  return found;
}

// Markdown as elements. Raw HTML stays text, images become links, and only http, https and mailto addresses are links.
//
// `Streamed` renders text that grows: blocks that are complete are rendered once, only the last one again.

import { h } from "../dom.js";

const LINK = /^(https?:|mailto:)/i;
const LONGEST = 200_000; // characters that are rendered; the rest is one text

/** @param {string} text @returns {HTMLElement[]} */
export function markdown(text) {
  if (text.length > LONGEST) return [...markdown(text.slice(0, LONGEST)), h("pre", null, text.slice(LONGEST))];
  return blocks(text).map(block);
}

export class Streamed {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.rest = "";
    this.last = /** @type {HTMLElement | null} */ (null);
    this.due = false;
  }

  /** @param {string} text */
  add(text) {
    this.rest += text;
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.due = false;
    const parts = blocks(this.rest);
    const open = parts.pop();
    if (parts.length) {
      this.last?.remove();
      this.last = null;
      this.root.append(...parts.map(block));
      this.rest = open === undefined ? "" : open.source;
    }
    if (open === undefined) return;
    const renewed = block(open);
    if (this.last) this.last.replaceWith(renewed);
    else this.root.append(renewed);
    this.last = renewed;
  }
}

/** @typedef {{kind: string, source: string, lines: string[], level?: number, language?: string}} Block */

/** @param {string} text @returns {Block[]} */
export function blocks(text) {
  const lines = text.split("\n");
  /** @type {Block[]} */
  const found = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const start = at;
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/.exec(lines[at]);
    /** @type {Partial<Block>} */
    let extra = {};
    let kind = "paragraph";
    let own = lines.slice(at, at + 1);
    if (fence) {
      kind = "code";
      extra = { language: fence[2] };
      at += 1;
      while (at < lines.length && !(lines[at].trim().startsWith(fence[1]) && lines[at].trim().replaceAll(fence[1][0], "") === "")) at += 1;
      own = lines.slice(start + 1, at);
      at += 1;
    } else if (/^ {0,3}#{1,6}\s/.test(lines[at])) {
      kind = "heading";
      extra = { level: /** @type {RegExpExecArray} */ (/#+/.exec(lines[at]))[0].length };
      at += 1;
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(lines[at])) {
      kind = "rule";
      at += 1;
    } else {
      const of = (/** @type {string} */ line) =>
        /^ {0,3}>/.test(line) ? "quote" : /^\s*([-*+]|\d{1,9}[.)])\s/.test(line) ? "list" : /^\s*\|.*\|\s*$/.test(line) ? "table" : "paragraph";
      kind = of(lines[at]);
      at += 1;
      while (at < lines.length && lines[at].trim() !== "" && !/^ {0,3}(`{3,}|~{3,}|#{1,6}\s)/.test(lines[at]) &&
        (of(lines[at]) === kind || (kind === "list" && /^\s{2,}/.test(lines[at])) || (kind === "quote" && of(lines[at]) === "paragraph"))) at += 1;
      own = lines.slice(start, at);
    }
    found.push({ kind, lines: own, source: lines.slice(start, at).join("\n") + (at < lines.length ? "\n" : ""), ...extra });
  }
  return found;
}

/** @param {Block} one @returns {HTMLElement} */
function block(one) {
  if (one.kind === "code") return h("pre", { data: one.language ? { language: one.language } : {} }, h("code", null, one.lines.join("\n")));
  if (one.kind === "heading") return h(`h${Math.min(5, (one.level || 1) + 2)}`, null, inline(one.lines[0].replace(/^ {0,3}#+\s*/, "").replace(/\s#+\s*$/, "")));
  if (one.kind === "rule") return h("hr");
  if (one.kind === "quote") return h("blockquote", null, markdown(one.lines.map((line) => line.replace(/^ {0,3}> ?/, "")).join("\n")));
  if (one.kind === "list") return list(one.lines);
  if (one.kind === "table" && one.lines.length > 1 && /^[\s|:-]+$/.test(one.lines[1])) return table(one.lines);
  return h("p", null, inline(one.lines.join("\n")));
}

/** @param {string[]} lines */
function list(lines) {
  const first = /** @type {RegExpExecArray} */ (/^(\s*)([-*+]|\d{1,9}[.)])/.exec(lines[0]));
  const indent = first[1].length;
  /** @type {string[][]} */
  const items = [];
  for (const line of lines) {
    const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line);
    if (item && item[1].length <= indent + 1) items.push([item[3]]);
    else items[items.length - 1].push(line.slice(Math.min(indent + 2, line.length - line.trimStart().length)));
  }
  return h(/\d/.test(first[2]) ? "ol" : "ul", null, items.map(([head, ...rest]) =>
    h("li", null, inline(head), rest.length ? markdown(rest.join("\n")) : [])));
}

/** @param {string[]} lines */
function table(lines) {
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const [head, , ...rows] = lines;
  return h("table", null, h("thead", null, h("tr", null, cells(head).map((cell) => h("th", null, inline(cell))))),
    h("tbody", null, rows.map((row) => h("tr", null, cells(row).map((cell) => h("td", null, inline(cell)))))));
}

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*|~~([^~\n]+)~~|!?\[([^\]\n]*)\]\(([^()\s]+)\)|(https?:\/\/[^\s<>()"']+[^\s<>()"'.,;:!?])/g;

/** @param {string} text @returns {(Node | string)[]} */
export function inline(text) {
  /** @type {(Node | string)[]} */
  const found = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    found.push(text.slice(at, match.index));
    at = match.index + match[0].length;
    const [whole, , code, strong, strong2, emphasis, gone, label, address, bare] = match;
    if (code !== undefined) found.push(h("code", null, code));
    else if (strong ?? strong2) found.push(h("strong", null, inline(strong ?? strong2)));
    else if (emphasis) found.push(h("em", null, inline(emphasis)));
    else if (gone) found.push(h("s", null, gone));
    else if (address && LINK.test(address)) found.push(link(address, label || address));
    else if (bare) found.push(link(bare, bare));
    else found.push(whole);
  }
  found.push(text.slice(at));
  return found;
}

/** The address is shown where the words hide it. @param {string} address @param {string} label */
function link(address, label) {
  return h("a", { href: address, rel: "noreferrer noopener", target: "_blank", title: address }, label);
}

// A drawing of tasks and what triggers what: layers from left to right, each task with the state of its last run.

import { h, svg } from "../dom.js";
import { STATES } from "../words.js";

const WIDTH = 180;
const HEIGHT = 46;
const GAP = { x: 60, y: 18 };

/**
 * @param {{id: string, title: string, state?: string, note?: string, address?: string}[]} nodes
 * @param {{from: string, to: string, kind?: string}[]} edges
 */
export function graph(nodes, edges) {
  const layer = layers(nodes, edges);
  /** @type {Map<number, string[]>} */
  const columns = new Map();
  for (const node of nodes) columns.set(layer.get(node.id) || 0, [...(columns.get(layer.get(node.id) || 0) || []), node.id]);
  const place = new Map([...columns].flatMap(([x, ids]) => ids.map((id, y) => [id, { x: 8 + x * (WIDTH + GAP.x), y: 8 + y * (HEIGHT + GAP.y) }])));
  const width = Math.max(1, columns.size) * (WIDTH + GAP.x);
  const height = Math.max(...[...columns.values()].map((ids) => ids.length), 1) * (HEIGHT + GAP.y) + 8;
  const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": describe(nodes, edges) },
    svg("defs", null, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0 L8 4 L0 8 z", fill: "currentColor" }))),
    edges.map((edge) => {
      const from = place.get(edge.from);
      const to = place.get(edge.to);
      if (!from || !to) return null;
      const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
      const middle = (x1 + x2) / 2;
      return svg("path", { class: `edge ${edge.kind || ""}`, d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, "marker-end": "url(#arrow)" });
    }),
    nodes.map((node) => {
      const at = place.get(node.id);
      if (!at) return null;
      const [mark, word] = STATES[node.state || ""] || ["○", node.state || "never ran"];
      return svg("a", { class: `node ${node.state || ""}`, href: node.address || null },
        svg("title", null, `${node.title}: ${word}`),
        svg("rect", { x: at.x, y: at.y, width: WIDTH, height: HEIGHT, rx: 4 }),
        svg("text", { x: at.x + 10, y: at.y + 19 }, cut(node.title)),
        svg("text", { class: "small", x: at.x + 10, y: at.y + 36 }, `${mark} ${word}${node.note ? ` · ${node.note}` : ""}`));
    }));
  return h("div", { class: "graph", tabindex: "0" }, drawing);
}

/** The longest way to each node; a circle does not end in one. @param {{id: string}[]} nodes @param {{from: string, to: string}[]} edges */
function layers(nodes, edges) {
  const layer = new Map(nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < nodes.length; round += 1) {
    let moved = false;
    for (const { from, to } of edges) {
      const wanted = (layer.get(from) ?? 0) + 1;
      if (layer.has(from) && layer.has(to) && (layer.get(to) ?? 0) < wanted && wanted < nodes.length) {
        layer.set(to, wanted);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return layer;
}

/** @param {string} text */
const cut = (text) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);

/** @param {{id: string, title: string, state?: string}[]} nodes @param {{from: string, to: string}[]} edges */
function describe(nodes, edges) {
  const title = new Map(nodes.map((node) => [node.id, node.title]));
  return [...nodes.map((node) => `${node.title} ${node.state || "never ran"}`), ...edges.map((edge) => `${title.get(edge.from)} leads to ${title.get(edge.to)}`)].join("; ");
}

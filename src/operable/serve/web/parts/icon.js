// Drawings of 16 by 16 for what a tool does. Fonts differ too much in their signs.

import { svg } from "../dom.js";

/** @type {Record<string, string>} */
const PATHS = {
  read: "M3 2.5h7l3 3v8H3z M5.5 8h5 M5.5 10.5h5",
  search: "M7 3a4 4 0 1 0 0 8a4 4 0 0 0 0-8z M10 10l3.5 3.5",
  edit: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z",
  delete: "M3.5 4.5h9 M6 4V2.5h4V4 M4.5 4.5l.7 9h5.6l.7-9",
  move: "M2.5 5.5h10l-2.5-2.5 M13.5 10.5h-10l2.5 2.5",
  execute: "M3 4l4 4l-4 4 M8.5 12.5h5",
  fetch: "M8 2.5v8 M4.5 7.5L8 11l3.5-3.5 M3 13.5h10",
  think: "M4 8h.01 M8 8h.01 M12 8h.01",
  switch_mode: "M4 3v10l-2-2 M12 13V3l2 2",
  other: "M8 2.5L13.5 8L8 13.5L2.5 8z",
  pin: "M5.5 2.5h5l-.8 4.2L12 9H4l2.3-2.3z M8 9v4.5",
};

/** @param {string} name */
export const icon = (name) => svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: PATHS[name] || PATHS.other }));

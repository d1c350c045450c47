// A list that makes only the rows one can see and some below: more come as one scrolls, or walks down with the keys.

import { h, reconcile } from "../dom.js";
import { count } from "../words.js";

const FIRST = 60;
const STEP = 100;

/**
 * @template T
 * @param {string} label @param {(item: T) => string} keyOf @param {(item: T) => HTMLElement} make
 */
export function windowed(label, keyOf, make) {
  const list = h("ul", { class: "rows", "aria-label": label });
  const more = h("button", { type: "button", class: "plain more", hidden: true, on: { click: () => grow() } });
  /** @type {T[]} */
  let all = [];
  let limit = FIRST;
  const draw = (/** @type {T[]} */ items) => {
    all = items;
    reconcile(list, all.slice(0, limit), keyOf, make);
    more.hidden = all.length <= limit;
    more.textContent = more.hidden ? "" : `Show more (${count(all.length - limit, "row")})`;
  };
  const grow = () => {
    limit += STEP;
    draw(all);
  };
  new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && grow(), { rootMargin: "400px" }).observe(more);
  return {
    list, more, draw,
    /** Make the row of an item, however far down it is. @param {string} key */
    reach: (key) => {
      const at = all.findIndex((item) => keyOf(item) === key);
      if (at >= limit) {
        limit = at + STEP;
        draw(all);
      }
    },
  };
}

// Elements from plain values. Text goes in as text nodes, so that nothing an agent says becomes markup.

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Props  `on` has listeners, `data` data attributes; true and null as for attributes
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `class`, `for` and every attribute by its own name; properties for value, checked, open, disabled.
 * @param {string} tag @param {Props | null} [props] @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  return /** @type {HTMLElement} */ (filled(document.createElement(tag), props || {}, children));
}

/**
 * The same for drawings.
 * @param {string} tag @param {Props | null} [props] @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  return /** @type {SVGElement} */ (filled(document.createElementNS(SVG, tag), props || {}, children));
}

/** What makes text look like other text: the order turned around, or characters that one does not see. */
const HIDING = /[\u202a-\u202e\u2066-\u2069\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu;

/** Text as it really is: a command, a path or a name must not read as another one. @param {string} text */
export const plain = (text) => text.replace(HIDING, (each) => `⟨U+${/** @type {number} */ (each.codePointAt(0)).toString(16).toUpperCase()}⟩`);

const PROPERTIES = new Set(["value", "checked", "open", "disabled", "selected", "indeterminate"]);

/** @param {Element} element @param {Props} props @param {(Child | Child[])[]} children */
function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      for (const [key, text] of Object.entries(value)) /** @type {HTMLElement} */ (element).dataset[key] = String(text);
    } else if (PROPERTIES.has(name)) {
      /** @type {any} */ (element)[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map(
    (child) => (child instanceof Node ? child : plain(String(child))),
  ));
  return element;
}

/** Put these in the place of everything inside. @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
  element.replaceChildren();
  filled(element, {}, children);
}

/**
 * Bring the children of a list in line with items: rows stay the same elements, so that focus and scrolling stay.
 * A row is made anew only where its item is another object than before.
 * @template T
 * @param {Element} list @param {T[]} items @param {(item: T) => string} keyOf @param {(item: T) => HTMLElement} make
 */
export function reconcile(list, items, keyOf, make) {
  const before = new Map([...list.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, child]));
  let place = list.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let row = /** @type {any} */ (before.get(key));
    before.delete(key);
    if (row && row.item !== item) {
      const renewed = /** @type {any} */ (make(item));
      const had = row.contains(document.activeElement) ? focusPath(row) : null;
      if (place === row) place = renewed;
      row.replaceWith(renewed);
      row = renewed;
      if (had !== null) refocus(row, had);
    } else if (!row) {
      row = make(item);
    }
    row.item = item;
    row.dataset.key = key;
    if (row !== place) list.insertBefore(row, place);
    else place = row.nextElementSibling;
  }
  for (const gone of before.values()) gone.remove();
}

const FOCUSABLE = "a[href], button, input, textarea, select, summary";

/** @param {Element} row */
function focusPath(row) {
  const active = document.activeElement;
  const index = [...row.querySelectorAll(FOCUSABLE)].indexOf(/** @type {Element} */ (active));
  return { index, value: active && "value" in active ? /** @type {any} */ (active).value : null };
}

/** @param {Element} row @param {{index: number, value: any}} had */
function refocus(row, had) {
  const element = /** @type {any} */ (row.querySelectorAll(FOCUSABLE)[had.index] || row);
  if (had.value !== null && "value" in element && element.type !== "checkbox") element.value = had.value;
  element.focus?.();
}

/** Say something once to people who listen to the page. @param {string} text */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = text;
}

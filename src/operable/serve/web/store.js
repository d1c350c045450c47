// What the page knows: tables of plain objects by id. Views subscribe; changes reach them once per frame.

/** @type {Map<string, Map<string, any>>} */
const tables = new Map();
/** @type {Map<string, Set<() => void>>} */
const subscribers = new Map();
/** @type {Set<string>} */
const changed = new Set();
let due = false;

/** @param {string} name @returns {Map<string, any>} */
function table(name) {
  let found = tables.get(name);
  if (!found) tables.set(name, (found = new Map()));
  return found;
}

/** @param {string} name @param {string} id */
export const find = (name, id) => table(name).get(id);
/** @param {string} name @returns {any[]} */
export const all = (name) => [...table(name).values()];

/** Add or renew one. @param {string} name @param {any} item */
export function keep(name, item) {
  table(name).set(item.id, item);
  touch(name);
}

/** The whole table anew. @param {string} name @param {any[]} items */
export function replace(name, items) {
  tables.set(name, new Map(items.map((item) => [item.id, item])));
  touch(name);
}

/** @param {string} name @param {string} id */
export function forget(name, id) {
  if (table(name).delete(id)) touch(name);
}

/**
 * Call it after each change of the table; the result ends that.
 * @param {string} name @param {() => void} listener @returns {() => void}
 */
export function subscribe(name, listener) {
  const listeners = subscribers.get(name) || new Set();
  subscribers.set(name, listeners.add(listener));
  return () => listeners.delete(listener);
}

/** @param {string} name */
export function touch(name) {
  changed.add(name);
  if (due) return;
  due = true;
  // A hidden page has no frames, and its title must still show the count.
  if (document.hidden) setTimeout(deliver, 200);
  else requestAnimationFrame(deliver);
}

function deliver() {
  due = false;
  const names = [...changed];
  changed.clear();
  for (const name of names) for (const listener of [...(subscribers.get(name) || [])]) listener();
}

/** How many questions wait. */
export const waiting = () => all("approvals").filter((each) => each.state === "waiting");

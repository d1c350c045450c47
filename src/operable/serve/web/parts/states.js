// What a place shows when there is nothing, not yet something, or a failure: what, why, and what to do.

import { h } from "../dom.js";
import { STATES } from "../words.js";

/** A first session, which needs no key. */
export const FIRST = "operable agent prompt operable-agent --option provider=offline --prompt 'hello'";

/** @param {string} title @param {string} text @param {string} [command] @returns {HTMLElement} */
export function empty(title, text, command) {
  return h("div", { class: "state" }, h("h2", null, title), h("p", null, text), command ? copyable(command) : null);
}

/** @param {any} error @returns {HTMLElement} */
export function problem(error) {
  const denied = error?.status === 401 || error?.status === 403;
  const hint = error?.status === 401 ? "log in again with: operable serve --link" : error?.hint || (error?.status === 403 ? "a login with more scopes is needed; operable serve --link makes one with all of them" : "");
  return h("div", { class: "problem", role: "alert" },
    h("strong", null, denied ? "Not allowed: " : "Failed: "), error?.message || String(error),
    error?.code ? h("span", { class: "quiet" }, ` (${error.code})`) : null,
    hint ? h("div", null, hint) : null);
}

export function skeleton() {
  return h("div", { role: "status", "aria-busy": "true", "aria-label": "Loading" }, [1, 2, 3, 4].map(() => h("div", { class: "skeleton" })));
}

/** A state as sign and word. @param {string} state @param {boolean} [worded] */
export function sign(state, worded = false) {
  const [mark, word] = STATES[state] || ["○", state];
  return h("span", { class: state }, h("i", { class: "sign", "aria-hidden": "true" }, mark), worded ? word : h("span", { class: "unseen" }, word));
}

/** A command that can be copied. @param {string} text */
export function copyable(text) {
  const button = h("button", { type: "button", class: "plain", on: { click: async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  } } }, "copy");
  return h("div", { class: "command" }, h("pre", null, text), button);
}

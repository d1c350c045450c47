// A form from a JSON Schema: one field per property. What has no field of its own is JSON in a text area.

import { h } from "../dom.js";

/** What every command has, and what only bytes that are not text need: folded. */
const RARE = /^(timeout|cursor)$|-b64$/;

/**
 * @typedef {{element: HTMLElement, value: () => Record<string, any>, check: () => boolean}} Form
 * @param {any} schema @param {Record<string, any>} [given] @param {() => void} [changed]
 * @returns {Form}
 */
export function form(schema, given = {}, changed = () => undefined) {
  const required = new Set(schema.required || []);
  const fields = Object.entries(schema.properties || {}).map(([name, shape]) => field(name, resolved(shape, schema), required.has(name), given[name]));
  // Fields that must be filled come first; the order of the schema otherwise.
  fields.sort((left, right) => Number(right.required) - Number(left.required));
  const rare = fields.filter((each) => !each.required && RARE.test(each.name));
  const element = h("div", { class: "form", on: { input: changed, change: changed } }, fields.filter((each) => !rare.includes(each)).map((each) => each.element),
    rare.length ? h("details", { class: "more-options" }, h("summary", null, `More options (${rare.length})`), h("div", { class: "form" }, rare.map((each) => each.element))) : null);
  if (!fields.length) element.append(h("p", { class: "quiet" }, "It takes no arguments."));
  return {
    element,
    // What is as it is by default is left out: so the command line has only what one chose.
    value: () => Object.fromEntries(fields.filter((each) => !each.isDefault()).map((each) => [each.name, each.read()]).filter(([, value]) => value !== undefined)),
    check: () => fields.every((each) => each.check()),
  };
}

/** @param {any} shape @param {any} schema */
function resolved(shape, schema) {
  if (typeof shape.$ref === "string" && shape.$ref.startsWith("#/")) {
    const found = shape.$ref.slice(2).split("/").reduce((/** @type {any} */ at, /** @type {string} */ step) => at?.[step.replace(/~1/g, "/").replace(/~0/g, "~")], schema);
    return { ...found, ...shape };
  }
  const options = (shape.anyOf || shape.oneOf || []).filter((/** @type {any} */ each) => each.type !== "null");
  return options.length === 1 ? { ...shape, ...options[0] } : shape;
}

/** @param {string} name @param {any} shape @param {boolean} required @param {any} given */
function field(name, shape, required, given) {
  const id = `field-${name}-${Math.random().toString(36).slice(2, 8)}`;
  const start = given !== undefined ? given : shape.default;
  const type = Array.isArray(shape.type) ? shape.type.find((/** @type {string} */ each) => each !== "null") : shape.type;
  const input = /** @type {any} */ (control(id, shape, type, start, required));
  const read = () => {
    if (type === "boolean") return input.checked === (shape.default === true) ? undefined : input.checked;
    if (input.value === "") return undefined;
    if (shape.enum) return shape.enum[input.selectedIndex - (hasBlank(shape, required) ? 1 : 0)];
    if (type === "integer" || type === "number") return Number(input.value);
    if (type === "array" && isLines(shape)) return input.value.split("\n").filter((/** @type {string} */ line) => line !== "").map((/** @type {string} */ line) => (["integer", "number"].includes(shape.items.type) ? Number(line) : line));
    if (type === "string") return input.value;
    return JSON.parse(input.value);
  };
  const check = () => {
    try {
      read();
      input.setCustomValidity("");
    } catch (error) {
      input.setCustomValidity("This is not JSON.");
    }
    return input.reportValidity();
  };
  const words = [shape.description, shape.pattern ? `Pattern ${shape.pattern}` : "", type === "array" && isLines(shape) ? "One in a line" : ""].filter(Boolean).map((text) => text.replace(/\.$/, "")).join(". ");
  const label = h("label", { for: id }, shape.title || name, required ? h("span", { class: "must" }, " required") : null);
  const help = words ? h("div", { class: "help", id: `${id}-help` }, words) : null;
  if (help) input.setAttribute("aria-describedby", `${id}-help`);
  const element = type === "boolean" ? h("div", { class: "field inline" }, input, label, help) : h("div", { class: "field" }, label, input, help, meaning(shape, input));
  const isDefault = () => !required && shape.default !== undefined && JSON.stringify(read()) === JSON.stringify(shape.default);
  return { name, element, required, read, check, isDefault };
}

/** A choice that may be left out, and does not say what it is then. @param {any} shape @param {boolean} required */
const hasBlank = (shape, required) => !required && shape.default === undefined;

/** What the chosen one of several means, where the schema says it. @param {any} shape @param {any} input */
function meaning(shape, input) {
  const texts = new Map((shape.oneOf || []).filter((/** @type {any} */ each) => "const" in each && each.description).map((/** @type {any} */ each) => [String(each.const), each.description]));
  if (!texts.size) return null;
  const place = h("div", { class: "meaning", "aria-live": "polite" });
  const draw = () => {
    place.textContent = texts.get(input.value) || "";
    place.classList.toggle("needs_you", /^no sandbox|asks nothing/i.test(place.textContent || ""));
  };
  input.addEventListener("change", draw);
  draw();
  return place;
}

/** @param {any} shape */
const isLines = (shape) => ["string", "integer", "number"].includes(shape.items?.type) && !shape.items?.enum;

/** @param {string} id @param {any} shape @param {string} type @param {any} start @param {boolean} required */
function control(id, shape, type, start, required) {
  const rest = { id, required: required && type !== "boolean" };
  if (type === "boolean") return h("input", { ...rest, type: "checkbox", checked: start === true });
  if (shape.enum) {
    return h("select", rest, hasBlank(shape, required) ? h("option", { value: "" }, "not set") : null, shape.enum.map((/** @type {any} */ each) => h("option", { value: String(each), selected: each === start }, each === "" ? "no" : String(each))));
  }
  if (type === "integer" || type === "number") {
    return h("input", { ...rest, type: "number", step: type === "integer" ? 1 : "any", min: shape.minimum, max: shape.maximum, value: start ?? "" });
  }
  if (type === "string") {
    const isLong = /(text|body|content|prompt|message)$/i.test(id.replace(/-\w+$/, "")) || (shape.maxLength || 0) > 400;
    if (isLong) return h("textarea", { ...rest, rows: 4, value: start ?? "" });
    return h("input", { ...rest, type: "text", pattern: shape.pattern, maxlength: shape.maxLength, value: start ?? "" });
  }
  const text = start === undefined || start === null ? "" : type === "array" && isLines(shape) ? start.join("\n") : JSON.stringify(start, null, 2);
  return h("textarea", { ...rest, rows: 2, value: text, placeholder: type === "array" && isLines(shape) ? "" : type === "array" ? "[…]" : "{…}" });
}

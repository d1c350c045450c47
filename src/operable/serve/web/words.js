// Numbers, times and states for people; exact values go into titles.

/** @type {Record<string, [string, string]>} state -> sign, word */
export const STATES = {
  needs_you: ["●", "needs you"],
  working: ["◐", "working"],
  idle: ["○", "idle"],
  ended: ["✓", "ended"],
  failed: ["✗", "failed"],
  waiting: ["●", "waiting"],
  allowed: ["✓", "allowed"],
  denied: ["✗", "denied"],
  withdrawn: ["–", "withdrawn"],
  succeeded: ["✓", "succeeded"],
  running: ["◐", "running"],
  ready: ["○", "ready"],
  asking: ["●", "waits for approval"],
  lost: ["✗", "lost"],
  timed_out: ["✗", "timed out"],
  rejected: ["✗", "rejected"],
  refused: ["✗", "refused"],
  blocked: ["○", "blocked"],
  cancelling: ["◐", "is being cancelled"],
  cancelled: ["–", "cancelled"],
  skipped: ["–", "skipped"],
  disabled: ["–", "disabled"],
};

/** A time as an age: now, 2 m, 14 m, 3 h, 5 d. @param {string | number | null | undefined} at */
export function age(at) {
  const time = moment(at);
  if (time === null) return "";
  const seconds = Math.max(0, (Date.now() - time) / 1000);
  return seconds < 10 ? "now" : span(seconds);
}

/** A time that comes: in 5 m. @param {string | number | null | undefined} at */
export function until(at) {
  const time = moment(at);
  if (time === null) return "";
  const seconds = (time - Date.now()) / 1000;
  return seconds <= 0 ? "due" : `in ${span(seconds)}`;
}

/** @param {number} seconds */
export function span(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** @param {string | number | null | undefined} at @returns {number | null} */
export function moment(at) {
  if (at === null || at === undefined || at === "" || at === 0) return null;
  const time = typeof at === "number" ? at : Date.parse(at);
  return Number.isNaN(time) ? null : time;
}

/** @param {string | number | null | undefined} at */
export function exact(at) {
  const time = moment(at);
  return time === null ? "" : new Date(time).toLocaleString();
}

/** The time of the day. @param {number} at */
export const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

/** Whether it was today. @param {string | number | null | undefined} at */
export const isToday = (at) => {
  const time = moment(at);
  return time !== null && new Date(time).toDateString() === new Date().toDateString();
};

/** 950, 14.2k, 3.1M @param {number | null | undefined} number */
export function amount(number) {
  if (!number) return "0";
  if (number < 1000) return String(number);
  if (number < 1_000_000) return `${(number / 1000).toFixed(1)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** @param {number | null | undefined} usd */
export const money = (usd) => (usd ? `$${usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)}` : "");

/** The last part of a path. @param {string | null | undefined} path */
export const folder = (path) => (path || "").replace(/\/+$/, "").split("/").pop() || path || "";

/** @param {string} id */
export const short = (id) => (id.length > 14 ? `${id.slice(0, 10)}…` : id);

/** How many of what. @param {number} number @param {string} one @param {string} [many] */
export const count = (number, one, many) => `${number} ${number === 1 ? one : many || `${one}s`}`;

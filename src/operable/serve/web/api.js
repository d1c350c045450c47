// Requests to the daemon. Every failure is an ApiError with the daemon's code, message and hint.

export class ApiError extends Error {
  /** @param {number} status @param {{code?: string, message?: string, hint?: string}} error */
  constructor(status, error) {
    super(error.message || `the daemon answered ${status}`);
    this.status = status;
    this.code = error.code || "";
    this.hint = error.hint || "";
  }
}

const LONGEST = 60_000; // milliseconds: a call of a tool may take longer, and has its own stream

/**
 * @param {string} method @param {string} path @param {any} [body]
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
 * @returns {Promise<any>}
 */
export async function request(method, path, body, query) {
  const address = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query || {})) {
    if (value !== null && value !== undefined && value !== "" && value !== false) address.searchParams.set(name, String(value));
  }
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-Operable-CSRF"] = data.csrf;
  let response;
  try {
    response = await fetch(address, {
      method, headers, credentials: "same-origin", signal: AbortSignal.timeout(LONGEST),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    throw new ApiError(0, { code: "UNREACHABLE", message: "the daemon cannot be reached", hint: "is it still running? operable serve" });
  }
  const text = await response.text();
  let answer;
  try {
    answer = text ? JSON.parse(text) : {};
  } catch (error) {
    throw new ApiError(response.status, { code: "UNREADABLE", message: "the answer is not JSON" });
  }
  if (!response.ok) throw new ApiError(response.status, answer.error || {});
  return answer;
}

/** @param {string} path @param {Record<string, any>} [query] */
export const get = (path, query) => request("GET", path, undefined, query);
/** @param {string} path @param {any} [body] */
export const post = (path, body) => request("POST", path, body ?? {});
/** @param {string} path @param {any} body */
export const patch = (path, body) => request("PATCH", path, body);
/** @param {string} path @param {any} body */
export const put = (path, body) => request("PUT", path, body);
/** @param {string} path */
export const remove = (path) => request("DELETE", path);

/**
 * What the frame of the page carries.
 * @type {{csrf: string, scopes: string[], cursor: number, sessions: any[], isPart: boolean, approvals: any[], folder: string}}
 */
export const data = { csrf: "", scopes: [], cursor: 0, sessions: [], isPart: false, approvals: [], folder: "", ...JSON.parse(document.getElementById("data")?.textContent || "{}") };

/** Whether this login may do it: read, prompt, approve or admin. @param {string} scope */
export const may = (scope) => data.scopes.includes(scope) || data.scopes.includes("admin");

/** One part of a path. @param {string} text */
export const part = (text) => encodeURIComponent(text);

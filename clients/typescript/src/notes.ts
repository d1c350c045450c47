// What a stream could do better: remarks that change no verdict, except where reading is strict. Those of Python.

import type { JsonObject } from "./json.js";
import { AOI_VERSIONS, CATEGORIES, FIELDS } from "./schemas/tables.js";
import type { Counts } from "./verdict.js";

const PREFIX = "aoi:";
const META_FIELDS = ["tool", "tool_version", "aoi_version", "schema_name", "schema_version"];
const ERROR_FIELDS = ["category", "code", "message", "retryable"];
const ECHOES = ["argv", "env", "environ", "environment"];
const QUOTE_LIMIT = 60;

export function* notesOn(type: string, event: JsonObject): Generator<[string, string]> {
  if (Object.hasOwn(FIELDS, PREFIX + type)) {
    yield ["FRAMEWORK_NAME_UNPREFIXED", `${quoted(type)} is not a framework event without its prefix \`${PREFIX}\` (8.2)`];
  } else if (type.startsWith(PREFIX) && !Object.hasOwn(FIELDS, type)) {
    yield ["FRAMEWORK_TYPE_UNKNOWN", `${quoted(type)} is unknown to this version of the framework (8.2)`];
  } else if (type === "aoi:meta") {
    yield* aboutMeta(event);
  } else if (type === "aoi:error") {
    yield* aboutError(event);
  } else if (type === "aoi:check") {
    yield* aboutMissing("CHECK_INCOMPLETE", type, event, ["name", "ok"]);
  }
}

export function quoted(words: string): string {
  const letters = Array.from(words);
  return letters.length <= QUOTE_LIMIT ? `\`${words}\`` : `\`${letters.slice(0, QUOTE_LIMIT).join("")}…\``;
}

function* aboutMeta(meta: JsonObject): Generator<[string, string]> {
  yield* aboutMissing("META_INCOMPLETE", "aoi:meta", meta, META_FIELDS);
  const version = meta["aoi_version"];
  if (typeof version === "string" && !AOI_VERSIONS.includes(version)) {
    yield ["AOI_VERSION_UNKNOWN", `the AOI version ${quoted(version)} is not one that is known here (5)`];
  }
  const echoed = ECHOES.filter((name) => Object.hasOwn(meta, name));
  if (Object.hasOwn(meta, "args") && meta["args_redacted"] !== true) echoed.push("args");
  if (echoed.length) {
    yield ["META_ECHOES_ARGUMENTS", `aoi:meta seems to echo arguments or environment: ${echoed.join(", ")} (8.3)`];
  }
}

function* aboutError(error: JsonObject): Generator<[string, string]> {
  yield* aboutMissing("ERROR_INCOMPLETE", "aoi:error", error, ERROR_FIELDS);
  const { category, code } = error;
  if (typeof category === "string" && !Object.hasOwn(CATEGORIES, category)) {
    yield ["CATEGORY_UNKNOWN", `${quoted(category)} is not a standard category (9.1)`];
  }
  if (typeof code === "string" && !/^[A-Z][A-Z0-9_]*$/.test(code)) {
    yield ["CODE_NOT_UPPER_SNAKE", `the error code ${quoted(code)} is not written in upper snake case (9.1)`];
  }
}

function* aboutMissing(code: string, type: string, event: JsonObject, names: string[]): Generator<[string, string]> {
  // Null is as good as absent; `false` is a value.
  const missing = names.filter((name) => !["string", "boolean"].includes(typeof event[name]));
  if (missing.length) yield [code, `${type} lacks ${missing.join(", ")}`];
}

/** What a stream had, to be compared with what its summary says it had. */
export class Tally {
  private checks = 0;
  private failing = 0;
  private plans = 0;

  add(type: string, event: JsonObject): void {
    if (type === "aoi:check") {
      this.checks += 1;
      if (event["ok"] === false) this.failing += 1;
    } else if (type === "aoi:plan") {
      this.plans += 1;
    }
  }

  *doubts(summary: JsonObject, counts: Counts): Generator<[string, string]> {
    if (summary["ok"] !== true) return;
    const { domain, warnings, errors } = counts;
    let sums = [domain];
    for (const more of [this.checks, this.plans, errors]) sums = [...sums, ...sums.map((total) => total + more)];
    const pairs: [string, number[], number][] = [
      ["count", sums, domain],
      ["warning_count", [warnings], warnings],
      ["error_count", [errors, errors + this.failing], errors],
    ];
    const wrong = pairs.flatMap(([name, fitting, had]) => {
      const said = summary[name];
      const isWrong = typeof said === "bigint" || (typeof said === "number" && !fitting.includes(said));
      return isWrong ? [`${name} is ${said}, and the stream had ${had}`] : [];
    });
    if (wrong.length) yield ["COUNT_DIFFERS", `the summary does not fit the stream: ${wrong.join("; ")} (8.3)`];
    if (summary["partial"] !== true && errors) {
      yield ["ERRORS_BESIDE_OK", `the summary says ok and not partial, and the stream had ${errors} errors (8.3)`];
    }
  }
}

// The verdict on a stream: what became of the operation, and why. The exit status alone never makes a success of a finite
// stream, and `ok` alone does not either. Codes and reasons are those of Python (schemas/tables.ts).

import type { JsonObject } from "./json.js";
import { CATEGORIES, CODES, type HOST_CODES } from "./schemas/tables.js";

export type Outcome = "success" | "partial" | "failed" | "interrupted" | "incomplete" | "violation";
/** What a stream can be, and what only a caller that runs the tool can say. */
export type StreamCode = keyof typeof CODES;
export type Code = StreamCode | keyof typeof HOST_CODES;

export interface Note {
  code: string;
  message: string;
  line: number | null;
}

export interface Counts {
  events: number;
  domain: number;
  warnings: number;
  errors: number;
}

/** How one stream is judged. */
export interface Verdict {
  outcome: Outcome;
  code: Code;
  reason: string;
  /** The line that decided, counted from 1. */
  line: number | null;
  /** What the process ended with; negative when a signal ended it, null when that is not known. */
  exitStatus: number | null;
  meta: JsonObject | null;
  summary: JsonObject | null;
  lastError: JsonObject | null;
  counts: Counts;
  notes: Note[];
  ok: boolean;
  /** With which status a relay of this stream should exit. */
  exitCode: number;
}

export function withSummary(summary: JsonObject, exitStatus: number | null, acceptPartial: boolean): StreamCode {
  if (summary["ok"] === true) {
    if (exitStatus) return "EXIT_CONTRADICTS_SUMMARY";
    return summary["partial"] === true ? "PARTIAL" : "OK";
  }
  if (summary["reason"] === "interrupted") return "INTERRUPTED";
  return acceptPartial && summary["partial"] === true ? "PARTIAL_FAILURE" : "SUMMARY_NOT_OK";
}

export function withoutSummary(
  exitStatus: number | null,
  about: { unbounded: boolean; started: boolean; truncated: boolean },
): StreamCode {
  if (exitStatus === 0 && !about.unbounded) return "EXIT0_WITHOUT_SUMMARY";
  if (about.truncated) return "LINE_TRUNCATED";
  if (exitStatus === -13 || exitStatus === 141) return "DOWNSTREAM_CLOSED";
  if (!about.unbounded) return exitStatus && !about.started ? "NEVER_STARTED" : "NO_SUMMARY";
  if (!exitStatus) return "STREAM_ENDED";
  return [-2, -15, 130, 143].includes(exitStatus) ? "STREAM_INTERRUPTED" : "STREAM_FAILED";
}

export function explain(code: StreamCode, line: number | null, detail: string, exitStatus: number | null): [Outcome, string] {
  const [outcome, template] = CODES[code];
  const given: Record<string, string> = { line: String(line), detail, status: statusText(exitStatus) };
  return [outcome, template.replace(/\{(\w+)\}/g, (_, name: string) => given[name] ?? "")];
}

export function exitCode(verdict: Pick<Verdict, "ok" | "code" | "outcome" | "exitStatus" | "lastError">): number {
  const { ok, code, outcome, exitStatus, lastError } = verdict;
  if (ok) return 0;
  if (code === "DEADLINE_EXCEEDED") return 124;
  if (outcome === "interrupted") return exitStatus === -15 || exitStatus === 143 ? 143 : 130;
  if (outcome !== "failed") return 65;
  if (exitStatus) return exitStatus > 0 ? exitStatus : 128 - exitStatus;
  const category = lastError?.["category"];
  return typeof category === "string" && Object.hasOwn(CATEGORIES, category) ? CATEGORIES[category]!.exit : 65;
}

function statusText(status: number | null): string {
  if (status === null) return "an unknown exit status";
  return status >= 0 ? `exit status ${status}` : `signal ${-status}`;
}

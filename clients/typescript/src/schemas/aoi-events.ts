// Generated from the published schemas by `./dev fix`. Do not edit.

/** One readiness check of doctor. */
export type AoiCheck = {
  type: "aoi:check";
  name: string;
  ok: boolean;
  /** How much it matters when the check is not ok. */
  severity?: string;
  detail?: string;
  /** Advice for a person; never run by a program. */
  hint?: string;
  [more: string]: unknown;
};

/** A structured failure of one item or of the whole run. */
export type AoiError = {
  type: "aoi:error";
  category: Category;
  code: Code;
  message: string;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** What it is about. */
  target?: string;
  /** Advice for a person; never run by a program. */
  hint?: string;
  /** The input line that caused it. */
  line_number?: number;
  /** Seconds after which a retry makes sense. */
  retry_after?: number;
  [more: string]: unknown;
};

/** One line of an AOI-CLI 0.2 stream. Selects by type: a framework event must have its shape, any other event only needs a type. Unknown fields are allowed everywhere. */
export type AoiEvents = {
  type: string;
  [more: string]: unknown;
};

/** A quiet but living stream. */
export type AoiHeartbeat = {
  type: "aoi:heartbeat";
  timestamp?: string;
  [more: string]: unknown;
};

/** First event of a run: which tool, command, schema and versions the following events belong to. Never the raw arguments. */
export type AoiMeta = {
  type: "aoi:meta";
  /** Stable name of the tool. */
  tool?: string;
  /** Release of the tool. */
  tool_version?: string;
  /** Version of the AOI convention, such as 0.2. */
  aoi_version?: string;
  /** Stable name of the schema of the domain events. */
  schema_name?: string;
  /** Version of that schema. */
  schema_version?: string;
  /** The command that runs. */
  command?: string;
  /** When the run began. */
  timestamp?: string;
  /** Correlates the events of one run. */
  trace_id?: string;
  /** How structured input is read, if any. */
  input_mode?: string;
  /** Whether item errors let the run go on. */
  continue_on_error?: boolean;
  /** Digest of the input, in place of the input itself. */
  input_fingerprint?: string;
  /** Arguments were withheld or masked. */
  args_redacted?: boolean;
  /** The stream has no end of its own. */
  unbounded?: boolean;
  /** Seconds between two heartbeats of an unbounded stream. */
  heartbeat_interval?: number;
  /** Only the plan is made; nothing is done. */
  dry_run?: boolean;
  /** The caller asked for a part of each domain event: fields that its schema requires may be missing. */
  reduced?: boolean;
  [more: string]: unknown;
};

/** One side effect that would be, or is about to be, done. */
export type AoiPlan = {
  type: "aoi:plan";
  /** What would be done, such as delete. */
  action: string;
  /** Stable id, path or URL of what it is done to. */
  target?: string;
  [more: string]: unknown;
};

/** How far a long operation has come. Dropping it changes no result. */
export type AoiProgress = {
  type: "aoi:progress";
  done?: number;
  total?: (number | null);
  message?: string;
  /** What is counted, such as bytes. */
  unit?: string;
  [more: string]: unknown;
};

/** Last event of a finite run. Without it the stream is incomplete. */
export type AoiSummary = {
  type: "aoi:summary";
  /** Whether the operation succeeded. */
  ok: boolean;
  /** How many results there are: domain events, the checks of a doctor, the changes of a dry run. */
  count?: number;
  warning_count?: number;
  error_count?: number;
  /** Some of the work was not done or some results are missing. */
  partial?: boolean;
  /** There is more than was emitted. */
  truncated?: boolean;
  /** Continues after a truncated result; opaque. */
  next_cursor?: (string | null);
  /** Why the run is not ok, such as interrupted. */
  reason?: string;
  /** Duration of the run in milliseconds. */
  elapsed_ms?: number;
  /** The result was recorded earlier under the same idempotency key. */
  replayed?: boolean;
  /** The plan was made and shown; nothing was done. */
  dry_run?: boolean;
  /** Digest of the plan that a dry run showed; confirming it applies that plan and no other. */
  plan_digest?: string;
  /** Input events of types that the command does not take. */
  ignored_count?: number;
  /** Warnings in the stream that was read as input. */
  upstream_warning_count?: number;
  [more: string]: unknown;
};

/** Something recoverable; the operation goes on. */
export type AoiWarning = {
  type: "aoi:warning";
  code?: Code;
  message: string;
  /** What it is about. */
  target?: string;
  /** Advice for a person; never run by a program. */
  hint?: string;
  [more: string]: unknown;
};

/** Portable kind of failure; consumers branch on it. */
export type Category = "usage" | "validation" | "authn" | "authz" | "not_found" | "conflict" | "rate_limited" | "temporary" | "timeout" | "cancelled" | "partial" | "internal" | "config" | "io";

/** The tool's own stable name of the condition, in upper snake case. */
export type Code = string;

/** Recommended shape of one resource in a listing. */
export type Entry = {
  type: "entry";
  id?: string;
  path?: string;
  url?: string;
  title?: string;
  [more: string]: unknown;
};

/** Recommended shape of one search result. */
export type Hit = {
  type: "hit";
  rank?: number;
  score?: number;
  id?: string;
  path?: string;
  url?: string;
  source?: string;
  title?: string;
  snippet?: string;
  text?: string;
  [more: string]: unknown;
};

/** Recommended shape of one exact match inside a source. */
export type Match = {
  type: "match";
  path?: string;
  line_number?: number;
  column?: number;
  text?: string;
  submatches?: unknown[];
  [more: string]: unknown;
};

// Generated from the published schemas by `./dev fix`. Do not edit.

/** What `capabilities --output json` returns. Unknown fields are allowed everywhere. */
export type AoiCapabilities = {
  /** Stable name of the tool. */
  tool: string;
  tool_version: string;
  /** What the tool is for, in one sentence. */
  summary?: string;
  /** Versions of the AOI convention that the tool speaks. */
  aoi_versions: Array<string>;
  /** Values of the output option. */
  outputs: Array<string>;
  /** The options that select the output; the first is the preferred one. */
  machine_flags?: Array<string>;
  schemas: Array<Schema>;
  auth?: Auth;
  /** Reason for the end of a run -> exit code. */
  exit_codes?: Record<string, number>;
  commands: Array<Command>;
  /** Standard flag or subcommand -> the name this tool uses instead. */
  aliases?: Record<string, string>;
  [more: string]: unknown;
};

/** What authentication is needed. */
export type Auth = {
  required: boolean;
  /** Such as token or oauth. */
  methods?: Array<string>;
  /** How a person gets credentials; never run by a program. */
  hint?: string;
  [more: string]: unknown;
};

/** One command. An absent flag means no. */
export type Command = {
  name: string;
  summary?: string;
  /** Changes nothing. */
  read_only: boolean;
  destructive?: boolean;
  /** May affect many resources at once; more than one needs the count or the digest of the plan. */
  bulk?: boolean;
  /** Its results have a limit by default. */
  bounded?: boolean;
  /** Its stream has no end of its own. */
  unbounded?: boolean;
  /** Seconds between two heartbeats of an unbounded stream. */
  heartbeat_interval?: number;
  /** How many results there are at most when --limit is not given. */
  default_limit?: number;
  /** Seconds after which the command gives up when --timeout is not given. */
  default_timeout?: number;
  supports_limit?: boolean;
  requires_confirm?: boolean;
  supports_confirm_count?: boolean;
  supports_dry_run?: boolean;
  supports_idempotency_key?: boolean;
  supports_cursor?: boolean;
  event_types?: Array<string>;
  role?: "source" | "transformer" | "sink";
  input_modes?: Array<string>;
  /** The upstream event types that are taken as items; other types are ignored. Absent: any. */
  input_types?: Array<string>;
  /** What a malformed line of the input does. */
  malformed_input?: "fail-fast" | "tolerant" | "configurable";
  /** What it does when the caller does not configure it. */
  malformed_input_default?: "fail-fast" | "tolerant";
  auth?: Auth;
  examples?: Array<string>;
  /** Values of the output option for this command. */
  outputs?: Array<string>;
  [more: string]: unknown;
};

export type Schema = {
  name: string;
  versions: Array<string>;
  default: string;
  [more: string]: unknown;
};

// Generated from the published schemas by `./dev fix`. Do not edit.

/** The caller: what it may do, and, for a page, what it sends as X-Operable-CSRF. */
export type AccessView = {
  name: string;
  kind: string;
  scopes: Array<string>;
  workspace?: (string | null);
  csrf?: (string | null);
  [more: string]: unknown;
};

/** One command of a thing. `inputSchema` is there when one thing is asked for. `operands` are the arguments that come behind `--` on the command line, in their order. */
export type ActionView = {
  name: string;
  summary: string;
  risk: string;
  assurance?: string;
  dryRun?: boolean;
  inputSchema?: (Record<string, unknown> | null);
  operands?: Array<string>;
  [more: string]: unknown;
};

/** null: no workspace is active. */
export type ActiveWorkspace = {
  slug: (string | null);
};

/** `digest` is that of the question as it was shown. `scope`: once, session (this call again), or a pattern of rules. */
export type ApprovalAnswer = {
  allowed: boolean;
  digest: string;
  reason?: string;
  option_id?: (string | null);
  scope?: string;
  content?: unknown;
};

/** Those that wait longest first; answered ones newest first. */
export type ApprovalList = {
  approvals: Array<ApprovalView>;
  [more: string]: unknown;
};

/** A question for a person. An answer is bound to `digest`: what is shown is what is approved. */
export type ApprovalView = {
  id: string;
  source: "call" | "run" | "session";
  sourceId: string;
  askId: string;
  kind: string;
  agent?: string;
  workspace?: string;
  folder?: string;
  tool?: string;
  toolKind?: string;
  text?: string;
  command?: (string | null);
  diffs?: Array<Record<string, unknown>>;
  arguments?: unknown;
  options?: unknown[];
  schema?: unknown;
  url?: (string | null);
  why?: string;
  digest?: string;
  askedAt?: number;
  expiresAt?: number;
  state?: "answered" | "waiting";
  answeredBy?: (string | null);
  answeredAt?: (number | null);
  allowed?: (boolean | null);
  reason?: (string | null);
  alwaysCovers?: Array<Cover>;
  [more: string]: unknown;
};

/** Newest first. `before` is for the next page, if there is one. */
export type AuditPage = {
  records: Array<Record<string, unknown>>;
  before?: (number | null);
  [more: string]: unknown;
};

export type AuditPlace = {
  slug: string;
  [more: string]: unknown;
};

/** The workspaces that have a chain. */
export type AuditPlaces = {
  workspaces: Array<AuditPlace>;
  [more: string]: unknown;
};

/** `dry_run`: only say what it would do, where it can. */
export type CallBody = {
  arguments?: Record<string, unknown>;
  dry_run?: boolean;
};

/** What a call gave. `code` is its verdict; `truncated`: there is more than is here. */
export type CallResult = {
  ok: boolean;
  code: string;
  entries: unknown[];
  summary: Record<string, unknown>;
  warnings: unknown[];
  errors: unknown[];
  truncated: boolean;
  [more: string]: unknown;
};

export type CatalogList = {
  entries: Array<OperableView>;
  [more: string]: unknown;
};

/** What a check of the whole chain found. `lost` counts what was begun by a process that ended before it said so. */
export type ChainVerdict = {
  ok: boolean;
  records: number;
  lost: number;
  running: number;
  problems: Array<ProblemView>;
  [more: string]: unknown;
};

/** Tokens in the window of the model, and its size; 0: the agent does not say. */
export type ContextUse = {
  used?: number;
  size?: number;
  [more: string]: unknown;
};

/** What an answer may cover beyond this question: the `scope` to send, and what that means. */
export type Cover = {
  scope: string;
  words: string;
  [more: string]: unknown;
};

/** The daemon, for clients that have a token. */
export type DaemonInfo = {
  version: string;
  url: string;
  uptimeSeconds: number;
  readers: number;
  [more: string]: unknown;
};

export type Done = {
  ok: boolean;
  [more: string]: unknown;
};

/** The answer of every request that failed. */
export type ErrorAnswer = {
  error: ErrorBody;
  [more: string]: unknown;
};

/** `code` is stable, `category` is one of AOI-CLI section 9.1; `hint` is for a person, and is never run. */
export type ErrorBody = {
  code: string;
  category: string;
  message: string;
  retryable?: boolean;
  hint?: (string | null);
  target?: (string | null);
  [more: string]: unknown;
};

/** `last_id` is the cursor for the next page. */
export type EventPage = {
  events: Array<SessionEvent>;
  last_id: number;
  [more: string]: unknown;
};

export type FlowDetail = {
  id: string;
  jobs: Array<JobView>;
  edges?: Array<FlowEdge>;
  [more: string]: unknown;
};

/** One task triggers another; `kind` is when: success, failure or complete. */
export type FlowEdge = {
  from: string;
  to: string;
  kind: string;
  [more: string]: unknown;
};

export type FlowList = {
  flows: Array<FlowSummary>;
  [more: string]: unknown;
};

/** An applied flow: what of its tasks needs attention first, and when it is due. */
export type FlowSummary = {
  id: string;
  jobs: number;
  state?: string;
  nextAt?: (string | null);
  lastRuns?: Array<RunView>;
  [more: string]: unknown;
};

/** `ok` is always true: a daemon that does not work does not answer. */
export type Health = {
  ok: boolean;
  [more: string]: unknown;
};

/** The hooks that the daemon was started with, and what became of their messages since then. */
export type HookList = {
  hooks: Array<HookView>;
  [more: string]: unknown;
};

/** One hook and what became of its messages. `target` is a host or a program; the path of an address may be secret. */
export type HookView = {
  name: string;
  kind: "command" | "webhook";
  target: string;
  on: Array<"answered" | "waiting">;
  waiting: number;
  delivered: number;
  failed: number;
  problem?: (string | null);
  [more: string]: unknown;
};

/** A task of an applied flow. */
export type JobView = {
  id: string;
  name: string;
  taskId: string;
  state: string;
  trigger: string;
  nextAt?: (string | null);
  lastRun?: (RunView | null);
  lastRuns?: Array<RunView>;
  [more: string]: unknown;
};

/** The verdict of a tool on each characteristic, the worst over all of its commands. */
export type LintReport = {
  tool: string;
  verdicts: Record<string, string>;
  at: number;
  [more: string]: unknown;
};

export type LintReports = {
  reports: Array<LintReport>;
  [more: string]: unknown;
};

/** A link that logs one browser in, once. */
export type LoginLink = {
  url: string;
  expiresIn: number;
  [more: string]: unknown;
};

/** `workspace` is a slug: the token then sees that workspace only. */
export type NewToken = {
  /** A short name. */
  name: string;
  scopes: Array<"admin" | "approve" | "prompt" | "read">;
  workspace?: (string | null);
};

export type NewWorkspace = {
  slug: string;
  path: string;
  label?: (string | null);
};

/** One thing. `health` says whether it can be used now, `problem` why not. `start` is there when one agent is asked for that can be started: the JSON Schema of the body of `POST /sessions/agent`, with what the manifest of this agent offers and the caller may choose. */
export type OperableView = {
  kind: string;
  name: string;
  version: string;
  description: string;
  risk: string;
  auth: string;
  health: string;
  callable: boolean;
  actions: Array<ActionView>;
  capabilities: Array<string>;
  problem?: (string | null);
  start?: (Record<string, unknown> | null);
  [more: string]: unknown;
};

export type PolicyDecision = {
  effect: string;
  why: string;
  reference: string;
  table: string;
  [more: string]: unknown;
};

/** `path` is the file of the user; null: the built-in rules alone. */
export type PolicyView = {
  path: (string | null);
  caller: string;
  rules: Array<RuleView>;
  [more: string]: unknown;
};

export type ProblemView = {
  code: string;
  line: number;
  message: string;
  [more: string]: unknown;
};

/** While a turn runs, a prompt interrupts it, waits in the queue, or is refused. */
export type PromptBody = {
  prompt: string;
  interrupt?: boolean;
  queue?: boolean;
};

/** Oldest first: the order in which they are sent. Those of a session that has ended were not sent. */
export type QueueList = {
  prompts: Array<QueuedPrompt>;
  [more: string]: unknown;
};

/** A prompt that waits. `by` is who sent it. */
export type QueuedPrompt = {
  id: string;
  text: string;
  at: string;
  by?: string;
  [more: string]: unknown;
};

/** One registered folder. */
export type RegisteredWorkspace = {
  slug: string;
  path: string;
  addedAt?: string;
  updatedAt?: string;
  label?: (string | null);
  [more: string]: unknown;
};

/** One rule in the order in which it is listed. `pattern` is null for a default. */
export type RuleView = {
  effect: string;
  pattern: (string | null);
  table: string;
  reason: string;
  [more: string]: unknown;
};

/** A state that a run was in; without an end it still is. */
export type RunBar = {
  name: string;
  state: string;
  begin: string;
  end?: (string | null);
  [more: string]: unknown;
};

/** A run with its states over time and the output of its last attempt; `output_cut`: there is more of it. */
export type RunDetail = {
  id: string;
  jobId: string;
  flowId: string;
  name: string;
  state: string;
  isFinal: boolean;
  cause: string;
  createdAt: string;
  endedAt?: (string | null);
  attempts?: number;
  reason?: (string | null);
  asks?: (string | null);
  timeline?: Array<RunBar>;
  output?: string;
  outputCut?: boolean;
  [more: string]: unknown;
};

/** Newest first. */
export type RunList = {
  runs: Array<RunView>;
  [more: string]: unknown;
};

/** One run of a job. */
export type RunView = {
  id: string;
  jobId: string;
  flowId: string;
  name: string;
  state: string;
  isFinal: boolean;
  cause: string;
  createdAt: string;
  endedAt?: (string | null);
  attempts?: number;
  reason?: (string | null);
  asks?: (string | null);
  [more: string]: unknown;
};

export type SessionChange = {
  label?: (string | null);
  pinned?: (boolean | null);
};

/** `queued` is the id of a prompt that waits, `wasBusy` whether a turn was interrupted. */
export type SessionDone = {
  ok: boolean;
  id: string;
  queued?: (string | null);
  wasBusy?: (boolean | null);
  [more: string]: unknown;
};

/** One event of the log: its number, when it was written (milliseconds since 1970), what it says. */
export type SessionEvent = {
  id: number;
  at: number;
  event: Record<string, unknown>;
  [more: string]: unknown;
};

/** Newest first. `next_cursor` is for the next page. */
export type SessionList = {
  sessions: Array<SessionView>;
  next_cursor?: (string | null);
  [more: string]: unknown;
};

/** One session and those that it started. `total…` has theirs in it; a cost of None is not reported. */
export type SessionTree = {
  id: string;
  adapterSlug: string;
  agentSlug: (string | null);
  label: (string | null);
  status: string;
  state: "ended" | "failed" | "idle" | "needs_you" | "working";
  tokens: TokenCount;
  costUsd: (number | null);
  totalTokens: TokenCount;
  totalCostUsd: (number | null);
  children?: Array<SessionTree>;
  [more: string]: unknown;
};

/** One session. `status` is that of AIP-46, `state` what it means for a person. */
export type SessionView = {
  id: string;
  adapterSlug: string;
  workspaceSlug: string;
  ground: string;
  cwd: string;
  status: string;
  startedAt: string;
  endedAt?: (string | null);
  lastOutputAt?: (string | null);
  exitCode?: (number | null);
  label?: (string | null);
  agentSlug?: (string | null);
  parentSessionId?: (string | null);
  depth?: number;
  state: "ended" | "failed" | "idle" | "needs_you" | "working";
  mode?: (string | null);
  model?: (string | null);
  sandbox?: (string | null);
  lastLine?: string;
  tokens?: TokenCount;
  costUsd?: (number | null);
  context?: ContextUse;
  pinned?: boolean;
  queued?: number;
  owner?: "daemon" | "other";
  error?: (string | null);
  turns?: number;
  questions?: number;
  worktree?: string;
  continues?: (string | null);
  lastId?: number;
  warnings?: Array<string>;
  [more: string]: unknown;
};

/** What a caller asks for. `adapter` may be left out if the `agent` says it. */
export type SpawnRequest = {
  adapter?: string;
  agent?: (string | null);
  ground?: (string | null);
  cwd?: (string | null);
  prompt?: (string | null);
  label?: (string | null);
  mode?: (string | null);
  options?: Record<string, unknown>;
  model?: (string | null);
  sandbox?: (string | null);
  worktree?: (boolean | string);
  policy?: (string | null);
  recover?: "" | "native-resume" | "transcript";
};

/** `effect` and `command` are those of the catalog, unless they are said here. */
export type TestedCall = {
  caller: string;
  kind: string;
  name: string;
  action: string;
  arguments?: Record<string, unknown>;
  effect?: (string | null);
  command?: Array<string>;
};

/** Tokens of a whole session, as far as its agent reports them. */
export type TokenCount = {
  in?: number;
  out?: number;
  [more: string]: unknown;
};

export type TokenList = {
  tokens: Array<TokenView>;
  [more: string]: unknown;
};

/** A token without its text. `text` is there only in the answer to the request that made it. */
export type TokenView = {
  name: string;
  kind: string;
  scopes: Array<"admin" | "approve" | "prompt" | "read">;
  createdAt: number;
  workspace?: (string | null);
  expiresAt?: (number | null);
  text?: (string | null);
  [more: string]: unknown;
};

/** `key`: what makes this request the same as an earlier one. */
export type Trigger = {
  key?: (string | null);
};

/** What is registered; `active` is the slug that a root spawn without a ground gets. */
export type WorkspaceList = {
  workspaces?: Array<RegisteredWorkspace>;
  active?: (string | null);
  [more: string]: unknown;
};

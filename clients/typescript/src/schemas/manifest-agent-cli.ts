// Generated from the published schemas by `./dev fix`. Do not edit.
import type { Auth, BundleId, DisplayName, Install, Program, Purpose, Requires, RunnerRef, SandboxRef, Semver, Setup, Tags, Variables, VersionCheck, Words } from "./manifest-blocks.js";

export type Capabilities = {
  streaming?: boolean;
  tool_calls?: boolean;
  sub_agents?: boolean;
  file_io?: boolean;
  multimodal?: boolean;
  resumable?: boolean;
  bidirectional?: boolean;
};

export type Continuation = {
  default: "none" | "pinned-session" | "transcript" | "native-resume";
  supported: Array<"none" | "pinned-session" | "transcript" | "native-resume">;
  pinned_session?: {
    idle_timeout_ms?: number;
    key_scope?: Array<"conversation" | "operator" | "user" | "guild" | "workspace">;
  };
};

export type ManifestAgentCli = {
  name: DisplayName;
  id: BundleId;
  description: Purpose;
  version: Semver;
  bin: Program;
  bin_args?: Words;
  install: Install;
  version_check: VersionCheck;
  setup?: Setup;
  auth?: Auth;
  sandbox: SandboxRef;
  runner?: RunnerRef;
  protocol: "acp" | "mcp" | "proprietary";
  /** Path of an ACP.md. */
  acp?: string;
  mcp?: Mcp;
  adapter?: string;
  session?: Session;
  models?: Models;
  capabilities?: Capabilities;
  modes?: Array<Mode>;
  options?: Array<Option>;
  continuation?: Continuation;
  requires?: Requires;
  examples?: Array<{
    goal: string;
    prompt: string;
    note?: string;
  }>;
  tags?: Tags;
  metadata?: Record<string, unknown>;
};

export type Mcp = {
  transport: "stdio" | "http" | "sse";
  command?: string;
  args?: Words;
  url?: string;
};

export type Mode = {
  id: string;
  description?: string;
  bin_args_append?: Words;
  env?: Variables;
};

export type Models = {
  default?: string;
  allowed?: Array<string>;
  env?: Variables;
};

export type Option = {
  id: string;
  type: "boolean" | "integer" | "string" | "enum";
  description?: string;
  enum?: Array<string>;
  default?: (boolean | number | string);
  min?: number;
  max?: number;
  bin_args_template?: Words;
  bin_args_append_when_true?: Words;
  env?: Variables;
};

export type Session = {
  mode?: "ephemeral" | "persistent" | "resumable";
  idle_timeout_ms?: number;
  max_turns?: number;
  context_carryover?: boolean;
};

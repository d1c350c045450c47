// Generated from the published schemas by `./dev fix`. Do not edit.
import type { Auth, BundleId, DisplayName, Install, Program, Purpose, Requires, RunnerRef, Semver, Setup, Tags, ToolSandbox, VersionCheck, Words } from "./manifest-blocks.js";

export type CommandTree = Record<string, (string | Record<string, unknown>)>;

export type Entry = {
  ref: string;
};

export type ManifestCli = {
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
  sandbox: ToolSandbox;
  runner?: RunnerRef;
  output?: {
    default_format?: "text" | "json" | "yaml" | "binary";
    json_flag?: string;
    json_flag_args?: Words;
    exit_codes?: Record<string, string>;
    stream?: "stdout" | "stderr" | "mixed";
    error_stream?: "stdout" | "stderr" | "mixed";
  };
  commands: CommandTree;
  intents?: Array<Entry>;
  actions?: Array<Entry>;
  requires?: Requires;
  examples?: Array<{
    goal: string;
    cmd: string;
    note?: string;
  }>;
  tags?: Tags;
  metadata?: Record<string, unknown>;
};

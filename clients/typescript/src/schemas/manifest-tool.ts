// Generated from the published schemas by `./dev fix`. Do not edit.
import type { DisplayName, Purpose, SecretBinding, Semver, Tags, ToolSandbox, Words } from "./manifest-blocks.js";

export type ManifestTool = {
  name: DisplayName;
  id: string;
  description: Purpose;
  version: Semver;
  /** JSON Schema 2020-12. */
  inputs: Record<string, unknown>;
  /** JSON Schema 2020-12, of success only. */
  outputs: Record<string, unknown>;
  idempotent?: boolean;
  mutates?: Array<string>;
  requires?: {
    network?: Array<string>;
    secrets?: Array<string>;
    tools?: Array<string>;
  };
  approval?: string;
  risk_level?: number;
  cost_class?: "trivial" | "metered" | "expensive";
  timeout_ms?: number;
  retry?: {
    max_attempts: number;
    backoff: "fixed" | "exponential";
    initial_ms?: number;
  };
  default_implementation?: (string | null);
  implements?: string;
  driver_constraints?: {
    forbid?: Array<"cli" | "http" | "mcp" | "sdk" | "builtin">;
    require_kind?: Array<"cli" | "http" | "mcp" | "sdk" | "builtin">;
  };
  runner?: {
    cli?: string;
    argv?: Words;
  };
  sandbox?: ToolSandbox;
  secrets?: Record<string, SecretBinding>;
  tags?: Tags;
  examples?: Array<{
    name: string;
    input: unknown;
    output?: unknown;
    note?: string;
  }>;
  metadata?: Record<string, unknown>;
};

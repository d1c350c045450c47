// Generated from the published schemas by `./dev fix`. Do not edit.
import type { BundleId, DisplayName, Purpose, Semver, Tags } from "./manifest-blocks.js";

export type Aip44 = {
  acp_rev: string;
  tier: "basic" | "governance-aware" | "sandboxed";
  capabilities?: Capabilities;
  operator?: string;
  governance?: string;
  sandbox?: string;
  audit?: {
    ref?: string;
    kind?: "governance" | "external" | "off";
  };
  mcp_servers?: Array<{
    name: string;
    transport: "stdio" | "http" | "sse";
    ref?: string;
  }>;
  [more: string]: unknown;
};

/** What is absent is unsupported. */
export type Capabilities = {
  client?: {
    fs?: {
      readTextFile?: boolean;
      writeTextFile?: boolean;
    };
    terminal?: boolean;
  };
  agent?: {
    loadSession?: boolean;
    promptCapabilities?: {
      image?: boolean;
      audio?: boolean;
      embeddedContext?: boolean;
    };
    mcpCapabilities?: {
      http?: boolean;
      sse?: boolean;
    };
  };
};

export type ManifestAcp = {
  name: DisplayName;
  id: BundleId;
  description: Purpose;
  version: Semver;
  kind: "client" | "server" | "bridge";
  transport: (string | unknown[]);
  metadata: {
    aip44: Aip44;
    [more: string]: unknown;
  };
  tags?: Tags;
  [more: string]: unknown;
};

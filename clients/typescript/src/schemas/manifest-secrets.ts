// Generated from the published schemas by `./dev fix`. Do not edit.
import type { DisplayName, Purpose } from "./manifest-blocks.js";

/** Readers ignore kinds that they do not know. */
export type Exposure = {
  kind: string;
  [more: string]: unknown;
};

/** Exactly one. A grant of a kind that is not listed grants nothing. */
export type Grant = {
  role?: string;
  userId?: string;
  cap?: string;
  tool?: string;
  workflow?: string;
  [more: string]: unknown;
};

export type ManifestSecrets = {
  secrets: Array<Secret>;
};

export type Secret = {
  slug: string;
  name: DisplayName;
  description: Purpose;
  kind?: "opaque" | "oauth" | "keypair" | "json";
  backend?: string;
  access?: {
    reveal?: Array<Grant>;
    bind?: Array<Grant>;
    rotate?: Array<Grant>;
  };
  audit?: {
    retention?: string;
    pii?: boolean;
    classification?: Array<string>;
  };
  tags?: Array<string>;
  metadata?: Record<string, unknown>;
  exposures?: Array<Exposure>;
};

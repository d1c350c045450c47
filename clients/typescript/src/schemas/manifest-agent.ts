// Generated from the published schemas by `./dev fix`. Do not edit.
import type { BundleId, DisplayName, Purpose, Semver, Tags } from "./manifest-blocks.js";

export type ManifestAgent = {
  name: DisplayName;
  id: BundleId;
  description: Purpose;
  version: Semver;
  adapter: string;
  mode?: string;
  model?: string;
  options?: Record<string, unknown>;
  delegates_to?: Array<BundleId>;
  max_depth?: number;
  max_children?: number;
  tags?: Tags;
  metadata?: Record<string, unknown>;
};

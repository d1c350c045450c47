// Generated from the published schemas by `./dev fix`. Do not edit.
import type { BundleId, DisplayName, Purpose, Runner, Semver, Tags } from "./manifest-blocks.js";

export type ManifestRunner = {
  name?: DisplayName;
  id?: BundleId;
  description?: Purpose;
  version?: Semver;
  tags?: Tags;
  metadata?: Record<string, unknown>;
  engine?: Runner["engine"];
  image?: Runner["image"];
  needs?: Runner["needs"];
  limits?: Runner["limits"];
  runtime?: Runner["runtime"];
};

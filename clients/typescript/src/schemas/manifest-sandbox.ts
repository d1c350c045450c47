// Generated from the published schemas by `./dev fix`. Do not edit.
import type { Sandbox } from "./manifest-blocks.js";

export type ManifestSandbox = Sandbox;

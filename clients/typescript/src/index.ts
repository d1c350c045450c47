export { Daemon, DaemonError, messages, type DaemonOptions, type Message, type StreamOptions } from "./daemon.js";
export { parse, stringify, type Json, type JsonObject, type Parsed } from "./json.js";
export { LINE_LIMIT, LineSplitter } from "./lines.js";
export { Reader, type AoiEvent, type ReaderOptions } from "./reader.js";
export { Call, call, collect, machineWords, type CallOptions, type Collected } from "./run.js";
export type { Code, Counts, Note, Outcome, Verdict } from "./verdict.js";
export type * as events from "./schemas/aoi-events.js";
export type * as capabilities from "./schemas/aoi-capabilities.js";
export type * as daemon from "./schemas/daemon.js";

// The reader of an AOI stream: bytes in, events out, and at the end a verdict. The same events, verdicts, lines and notes as
// `operable.wire.aoi` in Python: the tests of both read the same streams. Any chunking of the same bytes gives the same.

import { notesOn, quoted, Tally } from "./notes.js";
import { DepthFault, isObject, parse, type JsonObject, type Parsed } from "./json.js";
import { LINE_LIMIT, LineSplitter } from "./lines.js";
import { DEFINED, DOUBTS, FIELDS, type FieldKind } from "./schemas/tables.js";
import { exitCode, explain, withoutSummary, withSummary, type StreamCode, type Counts, type Note, type Verdict } from "./verdict.js";

export type AoiEvent = JsonObject & { type: string };

export interface ReaderOptions {
  /** Bytes of one line. */
  limit?: number;
  /** The stream has no end of its own: it needs no summary. May be set until the end. */
  unbounded?: boolean;
  /** Partial results are good enough. */
  acceptPartial?: boolean;
  /** A doubt about the stream is a failure. */
  strict?: boolean;
}

type State = "idle" | "failing" | "bare" | "open" | "ended";
type Kind = "meta" | "error" | "summary" | "other";

const TRANSITIONS: Record<State, Partial<Record<Kind, State>>> = {
  idle: { meta: "open", error: "failing", other: "bare", summary: "ended" },
  failing: { meta: "open", error: "failing", other: "bare", summary: "ended" },
  bare: { meta: "open", error: "bare", other: "bare", summary: "ended" },
  open: { error: "open", other: "open", summary: "ended" },
  ended: {},
};
const KINDS: Record<string, Kind> = { "aoi:meta": "meta", "aoi:error": "error", "aoi:summary": "summary" };
/** Lines that are searched for repeated keys when reading is not strict; the framework's events always are. */
const LOOKED_AT = 200;
const DETAIL_LIMIT = 300;
const NUMBER_SHOWN = 40;

class Offence extends Error {
  constructor(
    readonly code: StreamCode,
    readonly detail = "",
  ) {
    super(code);
  }
}

export class Reader {
  unbounded: boolean;
  meta: JsonObject | null = null;
  summary: JsonObject | null = null;
  lastError: JsonObject | null = null;
  readonly counts: Counts = { events: 0, domain: 0, warnings: 0, errors: 0 };
  private readonly splitter: LineSplitter;
  private readonly text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  private readonly notes = new Map<string, Note>();
  private readonly tally = new Tally();
  private state: State = "idle";
  private line = 0;
  private closed = false;
  private truncated = false;
  private offence: Offence | undefined;

  constructor(private readonly options: ReaderOptions = {}) {
    this.unbounded = options.unbounded ?? false;
    this.splitter = new LineSplitter(options.limit ?? LINE_LIMIT);
  }

  /** Whether an offence was found: no more events will come, whatever is fed. */
  get violated(): boolean {
    return this.offence !== undefined;
  }

  /** The events that this chunk completes. */
  feed(chunk: Uint8Array): AoiEvent[] {
    if (this.closed) throw new Error("feed() after close()");
    if (this.offence || chunk.length === 0) return [];
    if (this.state === "ended") {
      this.offend(new Offence("OUTPUT_AFTER_SUMMARY"));
      return [];
    }
    const events = this.read(this.splitter.feed(chunk));
    if (this.splitter.exceeded && !this.offence) {
      const code = this.hasEnded() ? "OUTPUT_AFTER_SUMMARY" : "LINE_TOO_LONG";
      this.offend(new Offence(code, String(this.splitter.limit)));
    }
    return events;
  }

  /** No more bytes: the event of a last line without LF, if that is a complete object; else it was cut. */
  close(): AoiEvent[] {
    if (this.closed) return [];
    this.closed = true;
    const rest = this.offence ? undefined : this.splitter.rest();
    if (rest === undefined) return [];
    if (this.state === "ended") {
      this.offend(new Offence("OUTPUT_AFTER_SUMMARY"));
      return [];
    }
    if (!this.isComplete(rest)) {
      this.truncated = true;
      this.line += 1;
      return [];
    }
    this.note("LAST_LINE_UNTERMINATED", "the last line has no line end (2)");
    return this.read([rest]);
  }

  /** Judge the stream. Implies `close`. */
  eof(exitStatus: number | null): Verdict {
    this.close();
    let detail = this.offence?.detail ?? "";
    let code = this.offence?.code ?? this.endCode(exitStatus);
    let line: number | null = this.line || null;
    const doubt = this.doubt();
    if (doubt && this.options.strict && ["OK", "PARTIAL", "PARTIAL_FAILURE", "STREAM_ENDED"].includes(code)) {
      [code, detail, line] = ["DOUBTFUL", doubt.message, doubt.line || line];
    }
    const notes = [...this.notes.values()];
    if (!this.meta && this.counts.events && code !== "NEVER_STARTED") {
      notes.push({ code: "META_MISSING", message: "there is no aoi:meta (4)", line: null });
    }
    return this.verdict(code, line, detail, exitStatus, notes);
  }

  private verdict(code: StreamCode, line: number | null, detail: string, exitStatus: number | null, notes: Note[]): Verdict {
    const [outcome, reason] = explain(code, line, detail, exitStatus);
    const ok = outcome === "success" || (outcome === "partial" && (this.options.acceptPartial ?? false));
    const { meta, summary, lastError } = this;
    const verdict = { outcome, code, reason, line, exitStatus, meta, summary, lastError, counts: { ...this.counts }, notes, ok };
    return { ...verdict, exitCode: exitCode(verdict) };
  }

  private endCode(exitStatus: number | null): StreamCode {
    if (this.summary) return withSummary(this.summary, exitStatus, this.options.acceptPartial ?? false);
    const started = this.state !== "idle" && this.state !== "failing";
    return withoutSummary(exitStatus, { unbounded: this.unbounded, started, truncated: this.truncated });
  }

  private doubt(): Note | undefined {
    if (this.summary && !this.offence) {
      for (const [code, message] of this.tally.doubts(this.summary, this.counts)) {
        if (!this.notes.has(code)) this.notes.set(code, { code, message, line: this.line });
      }
    }
    return [...this.notes.values()].find((note) => DOUBTS.includes(note.code));
  }

  private read(lines: Iterable<Uint8Array>): AoiEvent[] {
    const events: AoiEvent[] = [];
    try {
      for (const line of lines) {
        if (this.hasEnded()) throw new Offence("OUTPUT_AFTER_SUMMARY"); // whatever follows, it is not even looked at
        events.push(this.event(line));
      }
    } catch (error) {
      if (!(error instanceof Offence)) throw error;
      this.offend(error);
    }
    return events;
  }

  private event(line: Uint8Array): AoiEvent {
    const found = this.attempt(line);
    const parsed = found instanceof Offence ? undefined : found;
    const value = parsed?.value ?? null;
    const type = isObject(value) ? value["type"] : undefined;
    const isFramework = typeof type === "string" && Object.hasOwn(FIELDS, type);
    if (parsed?.repeated !== undefined && (this.options.strict || this.line < LOOKED_AT || isFramework)) {
      this.note("DUPLICATE_KEYS", `the key ${quoted(parsed.repeated)} is there twice in one object; the last value counts (2)`);
    }
    if (line.at(-1) === 13) this.note("CRLF", "lines end with CR LF; LF is enough (2)");
    if (!parsed) throw found;
    if (!isObject(value)) throw new Offence("NOT_AN_OBJECT");
    if (typeof type !== "string" || type === "") throw new Offence("NO_TYPE");
    if (isFramework) checkShape(type, value, parsed);
    this.accept(type, value);
    return value as AoiEvent;
  }

  private attempt(line: Uint8Array): Parsed | Offence {
    try {
      return this.parsed(line);
    } catch (error) {
      if (error instanceof Offence) return error;
      throw error;
    }
  }

  private accept(type: string, event: JsonObject): void {
    const next = TRANSITIONS[this.state][(Object.hasOwn(KINDS, type) ? KINDS[type] : undefined) ?? "other"];
    if (next === undefined) throw new Offence(this.hasEnded() ? "OUTPUT_AFTER_SUMMARY" : "SECOND_META");
    this.state = next;
    for (const [code, message] of notesOn(type, event)) this.note(code, message);
    if (type === "aoi:meta") {
      this.meta = event;
      if (this.counts.events) this.note("META_NOT_FIRST", "aoi:meta is not the first event (4)");
    } else if (type === "aoi:summary") {
      this.summary = event;
    } else if (type === "aoi:error") {
      this.lastError = event;
      this.counts.errors += 1;
    } else if (type === "aoi:warning") {
      this.counts.warnings += 1;
    } else if (!type.startsWith("aoi:")) {
      this.counts.domain += 1;
    } else {
      this.tally.add(type, event);
    }
    this.line += 1;
    this.counts.events += 1;
  }

  private isComplete(line: Uint8Array): boolean {
    try {
      return isObject(this.parsed(line).value);
    } catch {
      return false;
    }
  }

  /** One line as JSON; an offence says why not, the most specific reason first. */
  private parsed(line: Uint8Array): Parsed {
    let text: string | undefined;
    let fault: unknown;
    try {
      text = this.text.decode(line);
      const found = parse(text);
      const number = found.outOfRange[0];
      if (number !== undefined) {
        throw new Offence("NUMBER_OUT_OF_RANGE", number.length <= NUMBER_SHOWN ? number : `${number.slice(0, NUMBER_SHOWN)}…`);
      }
      if (found.lone !== undefined) throw new Offence("LONE_SURROGATE", found.lone);
      return found;
    } catch (error) {
      fault = error;
    }
    if (line.every((byte) => byte === 32 || byte === 9 || byte === 13)) throw new Offence("BLANK_LINE");
    if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) throw new Offence("BYTE_ORDER_MARK");
    if (line.includes(0)) throw new Offence("NUL_BYTE");
    if (text === undefined) throw new Offence("INVALID_UTF8");
    if (fault instanceof Offence) throw fault;
    if (fault instanceof DepthFault) throw new Offence("NESTED_TOO_DEEP");
    throw new Offence("NOT_JSON", String((fault as Error).message).slice(0, DETAIL_LIMIT));
  }

  private hasEnded(): boolean {
    return this.state === "ended";
  }

  private offend(offence: Offence): void {
    this.line += 1;
    this.offence = offence;
  }

  private note(code: string, message: string): void {
    if (!this.notes.has(code)) this.notes.set(code, { code, message, line: this.line + 1 });
  }
}

/** A framework event must have the types that the specification shows; a field that is only a convention cannot be wrong. */
function checkShape(type: string, event: JsonObject, parsed: Parsed): void {
  const fields: Record<string, FieldKind> = FIELDS[type] ?? {};
  const defined = DEFINED[type] ?? [];
  for (const [name, value] of Object.entries(event)) {
    const kind = fields[name];
    if (kind === undefined || !(defined.includes(name) || kind.required)) continue;
    const got = kindOf(value, parsed.fractions.has(name));
    const accepted = [...kind.accepts, ...(kind.required ? [] : ["null"])];
    if (accepted.includes(got)) continue;
    throw new Offence("MALFORMED_EVENT", `${type}: \`${name}\`: Expected \`${accepted.join(" | ")}\`, got \`${got}\``);
  }
  const missing = Object.entries(fields).find(([name, kind]) => kind.required && !Object.hasOwn(event, name));
  if (missing) throw new Offence("MALFORMED_EVENT", `${type}: \`${missing[0]}\` is missing`);
}

function kindOf(value: unknown, isFraction: boolean): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return isFraction ? "float" : "int";
  return { string: "str", boolean: "bool", bigint: "int" }[typeof value as string] ?? "object";
}

// The daemon of Operable: requests, and streams of server-sent events that go on where they were cut.

import type { JsonObject } from "./json.js";

export interface DaemonOptions {
  /** A token with the scopes that are needed (`POST /tokens`, or the file that `operable serve` names). */
  token: string;
  /** Seconds for one answer; 60 when left out. */
  timeout?: number;
}

/** The daemon refused: decide by `category`, as for every error of Operable. */
export class DaemonError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly category: string,
    message: string,
    readonly hint: string | undefined,
  ) {
    super(message);
  }
}

export interface Message {
  event: string;
  /** The cursor behind this message; "" when it has none. */
  id: string;
  data: string;
}

export interface StreamOptions {
  /** Go on behind this cursor. */
  after?: string;
  signal?: AbortSignal;
  /** How often in a row a stream that was cut is opened again; 10 when left out. */
  attempts?: number;
}

const TIMEOUT = 60;
const ATTEMPTS = 10;
const WAIT = 0.5;
const LONGEST_WAIT = 10;
const ANSWER_LIMIT = 64 * 1024 * 1024;
const MESSAGE_LIMIT = 16 * 1024 * 1024;

export class Daemon {
  constructor(
    readonly url: string,
    private readonly options: DaemonOptions,
  ) {}

  /** One request; the answer as JSON. `query` leaves out what is undefined. */
  async request<Answer = JsonObject>(
    method: string,
    path: string,
    given: { body?: unknown; query?: Record<string, string | number | undefined> } = {},
  ): Promise<Answer> {
    const signal = AbortSignal.timeout((this.options.timeout ?? TIMEOUT) * 1000);
    const response = await fetch(this.address(path, given.query), {
      method,
      signal,
      redirect: "manual", // what was said, and the token, are for this daemon alone
      headers: this.headers(given.body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) }),
    });
    const text = await bounded(response);
    if (!response.ok) throw refusal(response.status, text);
    return (text ? JSON.parse(text) : {}) as Answer;
  }

  get<Answer = JsonObject>(path: string, query: Record<string, string | number | undefined> = {}): Promise<Answer> {
    return this.request<Answer>("GET", path, { query });
  }

  post<Answer = JsonObject>(path: string, body: unknown = {}): Promise<Answer> {
    return this.request<Answer>("POST", path, { body });
  }

  /** The events of one session, those that were and those that come, until it has ended. */
  session(id: string, options: StreamOptions = {}): AsyncGenerator<Message> {
    return this.stream(`/sessions/${encodeURIComponent(id)}/stream`, options, { typed: "1" });
  }

  /** Everything that needs attention: hello, session, approval, run, gap. It ends when the caller leaves. */
  events(options: StreamOptions = {}): AsyncGenerator<Message> {
    return this.stream("/events", options);
  }

  /** Server-sent events; a stream that is cut goes on behind the last message, after a wait that grows. */
  async *stream(path: string, options: StreamOptions = {}, query: Record<string, string> = {}): AsyncGenerator<Message> {
    let cursor = options.after;
    let failures = 0;
    for (;;) {
      try {
        for await (const message of this.once(path, query, cursor, options.signal)) {
          failures = 0;
          if (message.id) cursor = message.id;
          yield message;
        }
      } catch (error) {
        if (error instanceof StreamOver) return;
        if (options.signal?.aborted || error instanceof DaemonError || error instanceof RangeError) throw error;
        if (failures >= (options.attempts ?? ATTEMPTS)) throw error;
      }
      failures += 1;
      if (failures > (options.attempts ?? ATTEMPTS)) return;
      await pause(Math.min(WAIT * 2 ** (failures - 1), LONGEST_WAIT), options.signal);
    }
  }

  private async *once(path: string, query: Record<string, string>, cursor: string | undefined, signal?: AbortSignal): AsyncGenerator<Message> {
    const leave = new AbortController();
    const both = signal ? AbortSignal.any([signal, leave.signal]) : leave.signal;
    const slow = setTimeout(() => leave.abort(new Error("the daemon did not answer in time")), (this.options.timeout ?? TIMEOUT) * 1000);
    try {
      const given: Record<string, string> = cursor === undefined ? {} : { "Last-Event-ID": cursor };
      const response = await fetch(this.address(path, query), {
        headers: this.headers({ Accept: "text/event-stream", ...given }),
        signal: both,
        redirect: "manual",
      });
      clearTimeout(slow);
      if (response.status === 204) throw new StreamOver();
      if (!response.ok) throw refusal(response.status, await bounded(response));
      yield* messages(response.body as unknown as AsyncIterable<Uint8Array>);
    } finally {
      clearTimeout(slow);
      leave.abort();
    }
  }

  private address(path: string, query: Record<string, string | number | undefined> = {}): string {
    const address = new URL(path, this.url);
    if (address.origin !== new URL(this.url).origin) throw new RangeError("the path leads to another server, which must not get the token");
    for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, String(value));
    return address.toString();
  }

  private headers(more: Record<string, string>): Record<string, string> {
    return { Authorization: `Bearer ${this.options.token}`, ...more };
  }
}

class StreamOver extends Error {}

/** Server-sent events of a body. A message that is longer than the limit is an error, and a comment is nothing. */
export async function* messages(body: AsyncIterable<Uint8Array>, limit = MESSAGE_LIMIT): AsyncGenerator<Message> {
  const decoder = new TextDecoder("utf-8");
  let pieces: string[] = []; // of the line that has no end yet: each chunk is looked at once
  let kept = 0;
  let held = ""; // a CR at the end may be the first half of a line end
  let fields: Message = { event: "message", id: "", data: "" };
  let hasData = false;
  let size = 0;
  for await (const chunk of body) {
    let text = held + decoder.decode(chunk, { stream: true });
    held = text.endsWith("\r") ? "\r" : "";
    if (held) text = text.slice(0, -1);
    const lines = text.split(/\r\n|\n|\r/);
    pieces.push(lines[0] ?? "");
    kept += lines[0]?.length ?? 0;
    if (kept > limit) throw new RangeError(`a message is longer than ${limit} characters`);
    if (lines.length > 1) {
      lines[0] = pieces.join("");
      pieces = [lines.pop() ?? ""];
      kept = pieces[0]?.length ?? 0;
    } else lines.length = 0;
    for (const line of lines) {
      if (line === "") {
        if (hasData) yield fields;
        fields = { event: "message", id: fields.id, data: "" };
        [hasData, size] = [false, 0];
        continue;
      }
      size += line.length;
      if (size > limit) throw new RangeError(`a message is longer than ${limit} characters`);
      const [name, value] = field(line);
      if (name === "event") fields.event = value;
      else if (name === "id" && !value.includes("\0")) fields.id = value;
      else if (name === "data") {
        fields.data = hasData ? `${fields.data}\n${value}` : value;
        hasData = true;
      }
    }
  }
}

function field(line: string): [string, string] {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(" ") ? value.slice(1) : value];
}

async function bounded(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > ANSWER_LIMIT) throw new RangeError(`an answer is longer than ${ANSWER_LIMIT} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function refusal(status: number, text: string): DaemonError {
  try {
    const { code, category, message, hint } = (JSON.parse(text) as { error: Record<string, string> }).error;
    return new DaemonError(status, code ?? "", category ?? "", message ?? text, hint);
  } catch {
    return new DaemonError(status, "NOT_FROM_OPERABLE", "io", `the answer has status ${status} and is not Operable's`, undefined);
  }
}

async function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
  signal?.throwIfAborted();
}

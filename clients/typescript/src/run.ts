// Calling tools from Node: events as they come, then the verdict. The tool leads a process group of its own, which is ended
// as a whole: at the deadline, when the caller leaves, and when too many events come.

import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";

import { Reader, type AoiEvent, type ReaderOptions } from "./reader.js";
import { HOST_CODES } from "./schemas/tables.js";
import { exitCode, type Outcome, type Verdict } from "./verdict.js";

export interface CallOptions extends ReaderOptions {
  /** What the tool reads; nothing when left out. */
  stdin?: string | Uint8Array;
  /** Variables of the tool; this process's own when left out. */
  env?: Record<string, string>;
  cwd?: string;
  /** Seconds for the whole call; 600 when left out, null for no deadline. */
  timeout?: number | null;
  /** Call the tool with exactly these words; else `--output jsonl` is added where they choose no output. */
  exact?: boolean;
}

export interface Collected {
  events: AoiEvent[];
  /** What the tool found or did: the events that are not the framework's. */
  results: AoiEvent[];
  /** The end of what it wrote to stderr. */
  stderr: string;
  verdict: Verdict;
}

const TIMEOUT = 600;
const MAX_EVENTS = 10_000;
const STDERR_KEPT = 64 * 1024;
/** Seconds between SIGINT, SIGTERM and SIGKILL, as in Python. */
const GRACES: [NodeJS.Signals, number][] = [
  ["SIGINT", 2],
  ["SIGTERM", 2],
  ["SIGKILL", 5],
];

/** The words of a tool in machine mode. What follows a `--` of its own is data. */
export function machineWords(words: readonly string[], exact = false): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const chosen = words.slice(0, end).some((word) => ["--output", "--format"].includes(word.split("=", 1)[0] ?? ""));
  if (exact || chosen) return [...words];
  return [...words.slice(0, end), "--output", "jsonl", ...words.slice(end)];
}

/** Call one tool and keep its events. More than `maxEvents` end it: the verdict is then EVENT_LIMIT_REACHED. */
export async function collect(argv: readonly string[], options: CallOptions & { maxEvents?: number } = {}): Promise<Collected> {
  const { maxEvents = MAX_EVENTS, ...rest } = options;
  const running = call(argv, rest);
  const events: AoiEvent[] = [];
  for await (const event of running) {
    events.push(event);
    if (events.length > maxEvents) break;
  }
  const isTooMuch = events.length > maxEvents;
  events.length = Math.min(events.length, maxEvents);
  const verdict = isTooMuch ? ruled(running.verdict, "EVENT_LIMIT_REACHED", String(maxEvents)) : running.verdict;
  return { events, results: events.filter((event) => !event.type.startsWith("aoi:")), stderr: running.stderr, verdict };
}

/** Call one tool: iterate over its events, then read `verdict`. Leaving the loop early ends the tool. */
export function call(argv: readonly string[], options: CallOptions = {}): Call {
  return new Call(argv, options);
}

export class Call implements AsyncIterable<AoiEvent> {
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly ended: Promise<number | null>;
  private readonly reader: Reader;
  private judged: Verdict | undefined;
  private cause: "CANCELLED" | "DEADLINE_EXCEEDED" | undefined;
  private isOver = false;
  private last = "";

  constructor(argv: readonly string[], private readonly options: CallOptions) {
    const [program, ...words] = machineWords(argv, options.exact);
    if (program === undefined) throw new RangeError("a call needs the name of a program");
    this.reader = new Reader(options);
    const { cwd, env } = options;
    this.child = spawn(program, words, {
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // a process group of its own
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once("error", reject);
      this.child.once("close", (code, signal) => {
        this.isOver = true;
        resolve(code ?? (signal === null ? null : -(SIGNALS[signal] ?? 9)));
      });
    });
    this.ended.catch(() => undefined); // reported where it is awaited
    this.child.stdin.on("error", () => undefined); // a tool need not read its input
    this.child.stdin.end(options.stdin ?? "");
    this.child.stderr.on("data", (piece: Buffer) => {
      this.last = (this.last + piece.toString("utf8")).slice(-STDERR_KEPT);
    });
  }

  get stderr(): string {
    return this.last;
  }

  /** How the call is judged; an error before its end. */
  get verdict(): Verdict {
    if (!this.judged) throw new Error("the call has not ended: iterate over its events first");
    return this.judged;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AoiEvent> {
    const { timeout = TIMEOUT } = this.options;
    const deadline = timeout === null ? undefined : setTimeout(() => void this.end("DEADLINE_EXCEEDED"), timeout * 1000);
    try {
      for await (const chunk of this.child.stdout as AsyncIterable<Buffer>) {
        yield* this.reader.feed(chunk);
        if (this.reader.violated) await this.end("CANCELLED");
      }
      yield* this.reader.close();
    } finally {
      try {
        if (!this.child.stdout.readableEnded) await this.end("CANCELLED");
        this.judged = this.judge(await this.ended); // an error if it never started
      } finally {
        clearTimeout(deadline);
      }
    }
  }

  /** Ask the tool to end, and make it. */
  async end(cause: "CANCELLED" | "DEADLINE_EXCEEDED" = "CANCELLED"): Promise<void> {
    if (this.isOver || this.cause) return;
    this.cause = cause;
    this.child.stdout.resume(); // its last words must not block it
    for (const [signal, seconds] of GRACES) {
      this.signal(signal);
      if (await this.endsWithin(seconds)) return;
    }
  }

  private judge(status: number | null): Verdict {
    const verdict = this.reader.eof(status);
    const { outcome, code, summary } = verdict;
    const speaksForItself =
      outcome === "violation" ? code !== "EXIT0_WITHOUT_SUMMARY" : summary?.["ok"] === true && ["success", "partial"].includes(outcome);
    return this.cause && !speaksForItself ? ruled(verdict, this.cause, String(this.options.timeout ?? TIMEOUT)) : verdict;
  }

  private async endsWithin(seconds: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), seconds * 1000);
    });
    try {
      return await Promise.race([this.ended.then(() => true), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.child.pid === undefined) return;
    try {
      process.kill(-this.child.pid, signal);
    } catch {
      this.child.kill(signal); // the group has ended
    }
  }
}

const SIGNALS: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGABRT: 6, SIGFPE: 8, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15,
};

function ruled(verdict: Verdict, code: keyof typeof HOST_CODES, detail: string): Verdict {
  const [outcome, template] = HOST_CODES[code] as [Outcome, string];
  const changed = { ...verdict, outcome, code, reason: template.replace("{detail}", detail), ok: false };
  return { ...changed, exitCode: exitCode(changed) };
}

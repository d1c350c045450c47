// The output side of an AOI tool: events as lines, the counts for the summary, signals, and readers that go away.
//
// `send` resolves when the operating system has the line, so nothing is lost at exit and a slow reader slows us down.
// Signals are seen between two awaits only: never between writing an event and counting it, nor in the middle of the
// replacement of the store, which is synchronous.

import { stdout } from 'node:process';

export const EXIT = {
  usage: 64, validation: 65, not_found: 65, conflict: 65, partial: 65, internal: 70, io: 74, temporary: 75, config: 78,
};
const READER_GONE = 141;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 };
const UNCOUNTED = ['aoi:meta', 'aoi:heartbeat', 'aoi:summary'];

/** A failure of the whole run; `event` is what is printed of it. */
export class Fail extends Error {
  constructor(category, code, message, details = {}) {
    super(message);
    this.category = category;
    this.event = { type: 'aoi:error', category, code, message, retryable: category === 'temporary', ...details };
  }
}

export class Stream {
  count = 0;
  warnings = 0;
  errors = 0;
  #began = performance.now();
  #stopping = false; // the summary has been written, or is being written

  constructor(tool, version) {
    this.tool = tool;
    this.version = version;
    stdout.on('error', (error) => {
      if (error.code === 'EPIPE') process.exit(READER_GONE);
      process.stderr.write(`${tool}: cannot write: ${error.code}\n`);
      process.exit(EXIT.io);
    });
    for (const [name, status] of Object.entries(SIGNALS)) process.on(name, () => this.#interrupted(status));
  }

  async meta(command, extra = {}) {
    await this.send({
      type: 'aoi:meta',
      tool: this.tool,
      tool_version: this.version,
      aoi_version: '0.2',
      schema_name: 'com.example.items.events',
      schema_version: '1.0.0',
      ...(command && { command }),
      ...extra,
    });
  }

  /** Write an event at once, and count it. */
  async send(event) {
    if (this.#stopping) return new Promise(() => {}); // whoever comes after the summary waits for the end
    this.#stopping = event.type === 'aoi:summary';
    if (event.type === 'aoi:error') this.errors += 1;
    else if (event.type === 'aoi:warning') this.warnings += 1;
    else if (!UNCOUNTED.includes(event.type)) this.count += 1;
    await this.text(`${JSON.stringify(event)}\n`);
  }

  /** Write the terminal summary. */
  async finish({ ok, partial = false, nextCursor = null, ...extra }) {
    await this.send({
      type: 'aoi:summary',
      ok,
      count: this.count,
      warning_count: this.warnings,
      error_count: this.errors,
      partial,
      truncated: nextCursor !== null,
      next_cursor: nextCursor,
      elapsed_ms: Math.floor(performance.now() - this.#began),
      ...extra,
    });
  }

  text(text) {
    return new Promise((resolve) => {
      stdout.write(text, resolve);
    });
  }

  /** End as a signal asks, with a summary if the reader takes it within a second. */
  #interrupted(status) {
    if (this.#stopping) return;
    setTimeout(() => process.exit(status), 1000);
    this.finish({ ok: false, partial: true, reason: 'interrupted' }).then(() => process.exit(status));
  }
}

// The output side of an AOI tool: events as lines, their count, signals, and readers that go away.
//
// `send` resolves when the operating system has the line and the event loop has gone round once, so that nothing is lost at
// exit and a signal is heard between two events. (Writing to a pipe is synchronous: a loop of awaits alone would never let a
// signal in.) The replacement of the store is synchronous, so no signal falls into it.

import { stdout } from 'node:process';

export const TOOL = 'ref-node';
export const VERSION = '1.4.0';
export const EXIT = {
  usage: 64, validation: 65, not_found: 65, conflict: 65, partial: 65, internal: 70, io: 74, temporary: 75, config: 78,
};
const READER_GONE = 141;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 };
const UNCOUNTED = ['aoi:meta', 'aoi:error', 'aoi:heartbeat', 'aoi:summary'];

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
  errors = 0;
  #ended = false; // the summary has been written, or is being written

  constructor() {
    stdout.on('error', (error) => {
      if (error.code === 'EPIPE') process.exit(READER_GONE);
      process.stderr.write(`${TOOL}: cannot write: ${error.code}\n`);
      process.exit(EXIT.io);
    });
    for (const [name, status] of Object.entries(SIGNALS)) process.on(name, () => this.#interrupted(status));
  }

  async meta(command) {
    const versions = { tool: TOOL, tool_version: VERSION, aoi_version: '0.2' };
    const schema = { schema_name: 'com.example.items.events', schema_version: '1.0.0' };
    await this.send({ type: 'aoi:meta', ...versions, ...schema, ...(command && { command }) });
  }

  /** Write an event at once, and count it. */
  async send(event) {
    if (this.#ended) return new Promise(() => {}); // whoever comes after the summary waits for the end
    this.#ended = event.type === 'aoi:summary';
    this.errors += event.type === 'aoi:error';
    this.count += !UNCOUNTED.includes(event.type);
    await this.write(`${JSON.stringify(event)}\n`);
    return new Promise(setImmediate);
  }

  /** Write the terminal summary. */
  async finish(ok, { cursor = null, ...more } = {}) {
    const counts = { count: this.count, error_count: this.errors };
    const page = { truncated: cursor !== null, next_cursor: cursor };
    await this.send({ type: 'aoi:summary', ok, ...counts, ...page, ...more });
  }

  write(text) {
    return new Promise((resolve) => {
      stdout.write(text, resolve);
    });
  }

  /** End as a signal asks, with a summary if the reader takes it within a second. */
  #interrupted(status) {
    if (this.#ended) return;
    setTimeout(() => process.exit(status), 1000);
    this.finish(false, { partial: true, reason: 'interrupted' }).then(() => process.exit(status));
  }
}

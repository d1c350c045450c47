// The input side: what an item may be, and JSONL that may be the stream of another AOI tool (sections 12 and 13).
//
// Lines with an `aoi:` type are control: they say whether what came upstream is complete and good. `entry` lines and lines
// without a type are items. Other types are counted and left out. A bad line ends the run before anything is done, or, with
// `--continue-on-error`, is reported and left out.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Fail } from './stream.mjs';

// An import is read whole before anything is done; beyond this, import in parts.
const MAX_INPUT = 16 * 1024 * 1024;
// Control characters act on terminals; U+FFFD and halves of surrogate pairs are what broken text turns into.
const TITLE = /^[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufffd\p{Cs}]{1,200}$/u;
const BODY = /^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffd\p{Cs}]{0,10000}$/u;
const ID = /^i_[0-9a-f]{12}$/;
const FIELDS = ['id', 'title', 'body'];

const fits = (pattern, value) => typeof value === 'string' && pattern.test(value);

/** Why this cannot be an item; undefined if it can. */
export function problem(value) {
  if (Object.keys(value).some((name) => name !== 'type' && !FIELDS.includes(name))) return 'there is an unknown field';
  const { type = 'entry', title, body = '', id = 'i_000000000000' } = value;
  if (type !== 'entry') return 'type must be entry';
  if (!fits(TITLE, title)) return 'title must be 1 to 200 characters, none of them a control character';
  if (!fits(BODY, body)) {
    return 'body must be at most 10000 characters, none of them a control character but tab and newline';
  }
  if (!fits(ID, id)) return 'id must be i_ and 12 hexadecimal digits';
  return undefined;
}

// Halves of surrogate pairs are no text.
function wellFormed(_name, value) {
  if (typeof value === 'string' && !value.isWellFormed()) throw new SyntaxError('not well-formed');
  return value;
}

const rejected = (code, message, number) => new Fail('validation', code, message, { line_number: number });

/** Reads one input. Afterwards `digest` identifies it and `remarks` are for the summary. */
export class Intake {
  remarks = {};
  #upstream = { open: false, closed: false, incomplete: false, failed: false };

  constructor(stream, source, tolerant) {
    this.stream = stream;
    this.source = source;
    this.tolerant = tolerant;
  }

  async read() {
    const items = [];
    let number = 0;
    for await (const line of this.#lines()) {
      number += 1;
      try {
        const item = this.#item(line, number);
        if (item) items.push({ number, item });
      } catch (error) {
        if (!this.tolerant || !(error instanceof Fail)) throw error;
        await this.stream.send(error.event);
      }
    }
    await this.#judgeUpstream();
    return items;
  }

  // Not node:readline: it also ends lines at U+2028 and U+2029, which JSON texts may contain, and hides bytes that are no
  // UTF-8.
  async *#lines() {
    let rest = Buffer.alloc(0);
    for await (const chunk of this.#chunks()) {
      let data = Buffer.concat([rest, chunk]);
      for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10)) {
        yield data.subarray(0, end);
        data = data.subarray(end + 1);
      }
      rest = data;
    }
    if (rest.length > 0) yield rest;
  }

  async *#chunks() {
    const sha = createHash('sha256');
    let size = 0;
    try {
      for await (const chunk of this.source === '-' ? process.stdin : createReadStream(this.source)) {
        sha.update(chunk);
        size += chunk.length;
        if (size > MAX_INPUT) throw new Fail('validation', 'INPUT_TOO_LARGE', 'The input has more than 16 MiB');
        yield chunk;
      }
    } catch (error) {
      if (error instanceof Fail) throw error;
      if (error.code === 'ENOENT') throw new Fail('not_found', 'INPUT_NOT_FOUND', 'The input file does not exist');
      throw new Fail('io', 'INPUT_UNREADABLE', 'The input cannot be read');
    }
    this.digest = sha.digest('hex');
  }

  #item(line, number) {
    let value;
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
      if (/^[ \t\r\v\f]*$/.test(text)) return undefined;
      value = JSON.parse(text, wellFormed);
    } catch {
      throw rejected('INPUT_JSONL_PARSE_ERROR', `Invalid JSON on input line ${number}`, number);
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw rejected('INPUT_NOT_OBJECT', `Input line ${number} is not a JSON object`, number);
    }
    const { type } = value;
    if (typeof type === 'string' && type.startsWith('aoi:')) {
      this.#control(type, value);
      return undefined;
    }
    if (this.#upstream.closed) {
      throw rejected('INPUT_AFTER_SUMMARY', `Input line ${number} follows the end of its stream`, number);
    }
    if (typeof type === 'string' && type !== 'entry') {
      this.#count('ignored_count');
      return undefined;
    }
    const reason = problem(value);
    if (reason) throw rejected('INPUT_INVALID', `Input line ${number}: ${reason}`, number);
    return value;
  }

  #count(name) {
    this.remarks[name] = (this.remarks[name] ?? 0) + 1;
  }

  #control(type, event) {
    const upstream = this.#upstream;
    if (type === 'aoi:meta') { // several streams may follow one another, as after `cat a b`
      upstream.incomplete ||= upstream.open;
      Object.assign(upstream, { open: true, closed: false });
    } else if (type === 'aoi:warning') {
      this.#count('upstream_warning_count');
    } else if (type === 'aoi:error') {
      upstream.failed = true;
    } else if (type === 'aoi:summary') {
      upstream.failed ||= event.ok !== true;
      Object.assign(upstream, { open: false, closed: true });
    }
  }

  async #judgeUpstream() {
    const { open, incomplete, failed } = this.#upstream;
    if (incomplete || open) {
      const fail = new Fail('io', 'UPSTREAM_INCOMPLETE', 'The upstream tool ended without a summary');
      if (!this.tolerant) throw fail;
      await this.stream.send(fail.event);
    } else if (failed) {
      const [code, message] = ['UPSTREAM_FAILED', 'The upstream tool reported a failure'];
      if (!this.tolerant) throw new Fail('partial', code, message);
      await this.stream.send({ type: 'aoi:warning', code, message });
    }
  }
}

// The store: one JSONL file that is replaced as a whole, under a lock.
//
// Its lines: `{"kind":"store",...}` first, then the items in order of creation, then what was done under idempotency keys.
// Items and keys are in one file so that one rename makes an effect and the memory of it visible together, or neither.
// Reading takes no lock: a reader sees the file before or after a change. A file that is not there is an empty store.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fail } from './stream.mjs';

// Retries come soon after the first try; the oldest keys are forgotten beyond this many.
const KEYS = 1000;
// Whoever holds the lock is done in milliseconds; longer means trouble, which the caller should hear of.
const LOCK_SECONDS = 5;

export const sha256 = (data) => createHash('sha256').update(data).digest('hex');

const unwritable = () => new Fail('io', 'STORE_UNWRITABLE', 'The store cannot be written');

export function directory() {
  const { REF_HOME, HOME } = process.env;
  if (REF_HOME) return REF_HOME;
  if (HOME) return join(HOME, '.local/share/reference');
  throw new Fail('config', 'HOME_NOT_SET', 'Neither REF_HOME nor HOME says where the items are');
}

export class Store {
  next = 1;
  items = [];
  keys = [];
  exists = false;

  /** What the file says. */
  constructor(home) {
    this.path = join(home, 'items.jsonl');
    let text;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if (error.code === 'ENOENT') return;
      throw new Fail('io', 'STORE_UNREADABLE', 'The store cannot be read');
    }
    try {
      const [head, ...records] = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
      this.next = head.next;
      this.items = records.filter((record) => record.kind === 'item');
      this.keys = records.filter((record) => record.kind === 'key');
      this.exists = true;
    } catch {
      throw new Fail('io', 'STORE_DAMAGED', 'The store is damaged');
    }
  }

  add(item) {
    this.items.push({ kind: 'item', seq: this.next, ...item });
    this.next += 1;
  }

  /** The events of an earlier run with this key, if there was one. */
  done(key, request) {
    if (key === undefined) return undefined;
    const record = this.keys.find((known) => known.key === sha256(key));
    if (record && record.request !== request) {
      throw new Fail('conflict', 'IDEMPOTENCY_KEY_REUSED', 'This idempotency key was used for another call');
    }
    return record?.events;
  }

  remember(key, request, events) {
    // The key may be somebody's secret: only its digest is kept.
    if (key !== undefined) this.keys.push({ kind: 'key', key: sha256(key), request, events });
  }

  /** Replace the file: a crash leaves the old one or the new one, never a mixture. */
  save() {
    const records = [{ kind: 'store', format: 1, next: this.next }, ...this.items, ...this.keys.slice(-KEYS)];
    const temporary = `${this.path}.${process.pid}.tmp`;
    try {
      const file = openSync(temporary, 'w', 0o600);
      writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
      fsyncSync(file);
      closeSync(file);
      renameSync(temporary, this.path);
    } catch {
      throw unwritable();
    }
  }
}

/**
 * Call `change` with the store while nobody else changes it. Node has no flock(2), but a lock belongs to the open file,
 * which a child shares: flock(1) takes it for us and leaves. The kernel takes it back from a process that dies.
 */
export async function locked(home, change) {
  let file;
  try {
    makeDirectory(home);
    file = openSync(join(home, 'items.lock'), 'a', 0o600);
  } catch {
    throw unwritable();
  }
  try {
    await flock(file);
    return change(new Store(home));
  } finally {
    closeSync(file);
  }
}

// Not `recursive: true`, which loops for ever where a directory can neither be found nor made (/proc/none, Node 20).
function makeDirectory(path) {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error; // somebody else was faster
  }
}

function flock(file) {
  return new Promise((resolve, reject) => {
    const child = spawn('flock', ['-x', '-w', String(LOCK_SECONDS), '3'], { stdio: ['ignore', 'ignore', 'ignore', file] });
    const end = () => child.kill();
    process.once('exit', end);
    child.once('error', () => reject(new Fail('config', 'FLOCK_MISSING', 'The program flock (util-linux) is missing')));
    child.once('exit', (status) => {
      process.off('exit', end);
      if (status === 0) resolve();
      else reject(new Fail('temporary', 'STORE_BUSY', 'Another process is changing the store'));
    });
  });
}

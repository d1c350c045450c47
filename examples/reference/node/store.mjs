// The store: one JSON file that is replaced as a whole, under a lock; reading takes none.
//
// Items and what was done under idempotency keys are in one file, so that one rename makes an effect and the memory of it
// visible together, or neither. A file that is not there is an empty store.

import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { env, pid } from 'node:process';
import { Fail } from './stream.mjs';

export function directory() {
  if (env.REF_HOME) return env.REF_HOME;
  if (env.HOME) return join(env.HOME, '.local/share/reference');
  throw new Fail('config', 'HOME_NOT_SET', 'Neither REF_HOME nor HOME says where the items are');
}

export function load(home) {
  try {
    const { next, items, keys } = JSON.parse(readFileSync(join(home, 'items.json'), 'utf8'));
    if (!Number.isInteger(next) || !Array.isArray(items)) throw new TypeError('not a store');
    return { next, items, keys: new Map(Object.entries(keys)) };
  } catch (error) {
    if (error.code === 'ENOENT') return { next: 1, items: [], keys: new Map() };
    throw new Fail('io', 'STORE_UNREADABLE', 'The store cannot be read');
  }
}

/** Replace the file: a crash leaves the old one or the new one, never a mixture. */
export function save(home, { next, items, keys }) {
  const path = join(home, 'items.json');
  const temporary = `${path}.${pid}.tmp`;
  const file = openSync(temporary, 'w', 0o600);
  // Written by hand, because an object literal would lose a key that is called __proto__.
  const remembered = [...keys].map(([key, done]) => `${JSON.stringify(key)}:${JSON.stringify(done)}`);
  writeSync(file, `{"next":${next},"items":${JSON.stringify(items)},"keys":{${remembered.join()}}}`);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, path);
}

/** Do something while nobody else changes the store. The kernel takes the lock back from a process that dies. */
export function locked(home, work) {
  let lock;
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    lock = openSync(join(home, 'items.lock'), 'a', 0o600);
    // Node has no flock(2), but a lock belongs to the open file, which a child shares.
    const { status } = spawnSync('flock', ['--exclusive', '--wait', '5', '3'], { stdio: ['ignore', 'ignore', 'ignore', lock] });
    if (status !== 0) throw new Fail('temporary', 'STORE_BUSY', 'Another process is changing the store');
    return work();
  } catch (error) {
    throw error instanceof Fail ? error : new Fail('io', 'STORE_UNWRITABLE', 'The store cannot be written');
  } finally {
    if (lock !== undefined) closeSync(lock);
  }
}

// What the tool does: one function for each command, which sends events and ends with the summary.
//
// Commands that change something only plan, and `change` does the rest in the same way for all of them: the dry run, the
// idempotency key, the lock. Each resolves to whether the run was a success; failures of the whole run are thrown.

import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Intake, problem } from './intake.mjs';
import { Store, directory, locked, sha256 } from './store.mjs';
import { Fail } from './stream.mjs';

const POLL = 200; // milliseconds between two looks at the store while watching

// ASCII letters only, which every language does alike.
const lower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

async function search(stream, options) {
  const words = lower(options.query).split(' ').filter(Boolean);
  if (words.length === 0) throw new Fail('usage', 'INVALID_VALUE', 'QUERY must have a word', { target: 'QUERY' });
  const found = new Store(directory()).items.filter(({ title, body }) => {
    const text = lower(`${title}\n${body}`);
    return words.every((word) => text.includes(word));
  });
  return page(stream, options, 'search', found, ({ id, title, body }, rank) => (
    { type: 'hit', rank, id, title, snippet: [...body].slice(0, 80).join('') }
  ));
}

async function list(stream, options) {
  const { items } = new Store(directory());
  return page(stream, options, 'list', items, ({ id, title, body }) => ({ type: 'entry', id, title, body }));
}

async function page(stream, options, command, items, event) {
  // A place in the results of one call, which survives deletions; the digest makes it opaque, and safe to check.
  const cursorAt = (place) => `${place}-${sha256(`${command}\n${options.query ?? ''}\n${place}`).slice(0, 16)}`;
  let after = 0;
  if (options.cursor !== undefined) {
    const place = options.cursor.split('-', 1)[0];
    if (!/^[0-9]+$/.test(place) || cursorAt(place) !== options.cursor) {
      throw new Fail('validation', 'INVALID_CURSOR', 'The cursor is damaged, or belongs to another call');
    }
    after = Number(place);
  }
  const ranked = items.map((item, index) => [item, index + 1]).filter(([item]) => item.seq > after);
  const shown = ranked.slice(0, options.limit ?? 20);
  for (const [item, rank] of shown) await stream.send(event(item, rank));
  await stream.finish({ ok: true, nextCursor: shown.length < ranked.length ? cursorAt(shown.at(-1)[0].seq) : null });
  return true;
}

async function create(stream, options) {
  const { id, title, body } = options;
  const item = { title, ...(body !== undefined && { body }), ...(id !== undefined && { id }) };
  const reason = problem(item);
  if (reason) throw new Fail('validation', 'ITEM_INVALID', reason);
  return change(stream, options, sha256(`create\n${id ?? ''}\n${title}\n${body ?? ''}`), (store) => {
    if (store.items.some((known) => known.id === id)) throw new Fail('conflict', 'ID_EXISTS', 'An item with this id exists');
    return { problems: [], changes: [{ action: 'create', id, item }] };
  });
}

async function deleteItems(stream, options) {
  const ids = [...new Set(options.ids)];
  if (!options['dry-run']) checkConfirmed(options, ids.length);
  return change(stream, options, sha256(['delete', ...ids].join('\n')), (store) => {
    const known = new Set(store.items.map(({ id }) => id));
    const operand = options.ids.findIndex((id) => !known.has(id)) + 1;
    if (operand > 0) {
      throw new Fail('not_found', 'ITEM_NOT_FOUND', `Operand ${operand} is not the id of an item`, { operand });
    }
    return { problems: [], changes: ids.map((id) => ({ action: 'delete', id })) };
  });
}

function checkConfirmed(options, planned) {
  const count = options['confirm-count'];
  if (!options.confirm || (planned > 1 && count === undefined)) {
    const missing = options.confirm ? '--confirm-count' : '--confirm';
    const message = `delete would delete ${planned} and needs ${missing}; nothing was done`;
    throw new Fail('usage', 'CONFIRMATION_REQUIRED', message, { planned });
  }
  if ((count ?? planned) !== planned) {
    const message = `delete would delete ${planned}, which is not --confirm-count; nothing was done`;
    throw new Fail('conflict', 'CONFIRM_COUNT_MISMATCH', message, { planned });
  }
}

async function importItems(stream, options) {
  const tolerant = Boolean(options['continue-on-error']);
  const intake = new Intake(stream, options['input-jsonl'], tolerant);
  const lines = await intake.read();
  const request = sha256(`import\n${Number(tolerant)}\n${intake.digest}`);
  return change(stream, options, request, (store) => {
    const known = new Set(store.items.map(({ id }) => id));
    const problems = [];
    const changes = [];
    for (const { number, item } of lines) {
      if (known.has(item.id)) {
        const message = `Input line ${number}: an item with this id exists`;
        const fail = new Fail('conflict', 'ID_EXISTS', message, { line_number: number });
        if (!tolerant) throw fail;
        problems.push(fail.event);
      } else {
        changes.push({ action: 'create', id: item.id, item, line: number });
        if (item.id) known.add(item.id);
      }
    }
    return { problems, changes };
  }, intake.remarks);
}

/** Show the plan, or do it once and for all; a repeated call with the same key gets the events of the first. */
async function change(stream, options, request, plan, remarks = {}) {
  const home = directory();
  const key = options['idempotency-key'];
  const snapshot = new Store(home);
  const dry = Boolean(options['dry-run']);
  const earlier = dry ? undefined : snapshot.done(key, request);
  if (earlier) return report(stream, earlier, { replayed: true, ...remarks });
  const { problems, changes } = plan(snapshot); // before the lock: what is refused leaves no trace
  if (dry) return report(stream, [...problems, ...changes.map(planned)], { dry_run: true, ...remarks });
  const { events, replayed } = await locked(home, (store) => {
    const done = store.done(key, request);
    if (done) return { events: done, replayed: { replayed: true } };
    const final = plan(store);
    const made = [...final.problems, ...final.changes.map((one) => apply(store, one))];
    store.remember(key, request, made);
    store.save();
    return { events: made, replayed: {} };
  });
  return report(stream, events, { ...replayed, ...remarks });
}

const onLine = (line) => line !== undefined && { line_number: line };

const planned = ({ action, id, line }) => ({ type: 'aoi:plan', action, ...(id && { target: id }), ...onLine(line) });

function apply(store, { action, id, item, line }) {
  if (action === 'delete') {
    store.items = store.items.filter((known) => known.id !== id);
    return { type: 'deleted', id };
  }
  const made = id ?? `i_${randomBytes(6).toString('hex')}`;
  store.add({ id: made, title: item.title, body: item.body ?? '' });
  return { type: 'created', id: made, ...onLine(line) };
}

async function report(stream, events, extra) {
  for (const event of events) await stream.send(event);
  const ok = stream.errors === 0;
  await stream.finish({ ok, partial: !ok, ...extra });
  return ok;
}

async function watch(stream, options) {
  const home = directory();
  let known = new Set(new Store(home).items.map(({ id }) => id));
  let seen = state(home);
  let beat = 0;
  for (;;) {
    if (performance.now() >= beat) {
      await stream.send({ type: 'aoi:heartbeat', timestamp: `${new Date().toISOString().slice(0, 19)}Z` });
      beat = performance.now() + 1000 * (options.heartbeat ?? 2);
    }
    await sleep(POLL);
    const now = state(home);
    if (now === seen) continue;
    seen = now;
    const ids = new Store(home).items.map(({ id }) => id);
    const left = new Set(ids);
    for (const id of [...known].filter((one) => !left.has(one)).sort()) await stream.send({ type: 'deleted', id });
    for (const id of ids.filter((one) => !known.has(one))) await stream.send({ type: 'created', id });
    known = left;
  }
}

/** Changes whenever the store is replaced. */
function state(home) {
  const { ino, mtimeNs, size } = statSync(join(home, 'items.jsonl'), { bigint: true, throwIfNoEntry: false }) ?? {};
  return `${ino} ${mtimeNs} ${size}`;
}

async function doctor(stream) {
  let failed = 0;
  const check = async (name, detail, ok = true) => {
    failed += Number(!ok);
    await stream.send({ type: 'aoi:check', name, ok, severity: ok ? 'info' : 'error', detail });
  };
  try {
    const home = directory();
    await check('home', 'set');
    const store = new Store(home);
    await check('store', store.exists ? `${store.items.length} items` : 'none yet');
  } catch (error) {
    if (!(error instanceof Fail)) throw error;
    await check(error.category === 'config' ? 'home' : 'store', error.message, false);
  }
  // Whether a secret is there may be said; what it is, or how long, may not.
  await check('api_token', process.env.REF_API_TOKEN ? 'set' : 'not set, and not needed');
  stream.errors = failed;
  await stream.finish({ ok: failed === 0 });
  return failed === 0;
}

export const COMMANDS = { search, list, create, delete: deleteItems, import: importItems, watch, doctor };

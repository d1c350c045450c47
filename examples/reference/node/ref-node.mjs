#!/usr/bin/env node
// A conforming AOI tool in plain Node: no dependencies.
//
// Here: the commands, and what happens from start to exit. `stream` is its output side, `arguments` the command line, `store`
// the data, contract.json the documents that discovery prints. Commands send events and return what the summary adds.

import { createReadStream, readFileSync } from 'node:fs';
import { argv, stdin } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { readOptions } from './arguments.mjs';
import { directory, load, locked, save } from './store.mjs';
import { EXIT, Fail, Stream, TOOL, VERSION } from './stream.mjs';

// An import is read whole before anything is done; beyond this, import in parts.
const MAX_INPUT = 16 * 1024 * 1024;
const POLL = 200;
const HEARTBEAT = 1000;
const BAD_TITLE = 'title must be 1 to 200 characters, none of them a control character';

// Control characters act on terminals; halves of surrogate pairs are no text.
const isTitle = (value) => typeof value === 'string' && value.isWellFormed() && /^[^\x00-\x1f\x7f]{1,200}$/u.test(value);
// ASCII letters only, which every language does alike.
const lower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

async function list(stream, options) {
  return page(stream, options, load(directory()).items.map((item) => ({ type: 'entry', ...item })));
}

async function search(stream, options) {
  const found = load(directory()).items.filter(({ title }) => lower(title).includes(lower(options.query)));
  return page(stream, options, found.map((item, index) => ({ type: 'hit', rank: index + 1, ...item })));
}

/** A cursor is the number of the last id: it survives the deletion of that item. */
async function page(stream, { cursor, limit = 20 }, events) {
  const place = cursor === undefined ? ['', '0'] : /^after-([0-9]{1,9})$/.exec(cursor);
  if (place === null) throw new Fail('validation', 'INVALID_CURSOR', 'The cursor is damaged');
  const left = events.filter(({ id }) => Number(id.slice(1)) > Number(place[1]));
  for (const event of left.slice(0, limit)) await stream.send(event);
  return left.length > limit ? { cursor: `after-${left[limit - 1].id.slice(1)}` } : {};
}

async function create(stream, options) {
  if (!isTitle(options.title)) throw new Fail('validation', 'ITEM_INVALID', BAD_TITLE);
  return change(stream, options, ['create', options.title], [{ action: 'create', target: options.title }]);
}

async function remove(stream, options) {
  if (!options['dry-run'] && !options.confirm) {
    const message = 'delete needs --confirm; nothing was done';
    throw new Fail('usage', 'CONFIRMATION_REQUIRED', message, { target: '--confirm' });
  }
  return change(stream, options, ['delete', options.id], [{ action: 'delete', target: options.id }]);
}

async function importItems(stream, options) {
  const changes = [];
  let [ignored, open, failed] = [0, false, false];
  // Split by hand: node:readline also ends lines at U+2028, which is a legal character inside a JSON text.
  const lines = splitLines(await readInput(options['input-jsonl']));
  for (const [index, line] of lines.entries()) {
    const number = index + 1;
    if (!line.toString('latin1').trim()) continue;
    const item = parseLine(line, number);
    const kind = item.type ?? 'entry';
    if (kind === 'aoi:meta') open = true;
    else if (kind === 'aoi:error') failed = true;
    else if (kind === 'aoi:summary') [open, failed] = [false, failed || item.ok !== true];
    else if (kind !== 'entry') ignored += !String(kind).startsWith('aoi:');
    else if (!isTitle(item.title)) throw badLine('INPUT_INVALID', `Input line ${number}: ${BAD_TITLE}`, number);
    else changes.push({ action: 'create', target: item.title, more: { line_number: number } });
  }
  if (open) throw new Fail('io', 'UPSTREAM_INCOMPLETE', 'The upstream tool ended without a summary');
  if (failed) throw new Fail('partial', 'UPSTREAM_FAILED', 'The upstream tool reported a failure');
  const more = await change(stream, options, ['import', ...changes.map(({ target }) => target)], changes);
  return { ...more, ...(ignored && { ignored_count: ignored }) };
}

async function readInput(path) {
  const chunks = [];
  let size = 0;
  try {
    for await (const chunk of path === '-' ? stdin : createReadStream(path)) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_INPUT) throw new Fail('validation', 'INPUT_TOO_LARGE', 'The input has more than 16 MiB');
    }
  } catch (error) {
    throw error instanceof Fail ? error : new Fail('io', 'INPUT_UNREADABLE', 'The input cannot be read');
  }
  return Buffer.concat(chunks);
}

function splitLines(data) {
  const lines = [];
  for (let start = 0, end; start <= data.length; start = end + 1) {
    end = data.indexOf(10, start);
    if (end < 0) end = data.length;
    lines.push(data.subarray(start, end));
  }
  return lines;
}

function parseLine(line, number) {
  let item;
  try {
    item = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line));
  } catch {
    throw badLine('INPUT_JSONL_PARSE_ERROR', `Input line ${number} is not JSON`, number);
  }
  if (item === null || typeof item !== 'object' || Array.isArray(item)) {
    throw badLine('INPUT_INVALID', `Input line ${number} is not an object`, number);
  }
  return item;
}

function badLine(code, message, number) {
  return new Fail('validation', code, message, { line_number: number });
}

/** Show the plan, or do it once and for all: a repeated call with the same key gets the events of the first. */
async function change(stream, options, request, changes) {
  const home = directory();
  const key = options['idempotency-key'];
  if (options['dry-run']) {
    checkKnown(load(home), changes);
    for (const { action, target, more } of changes) {
      await stream.send({ type: 'aoi:plan', action, ...(action === 'delete' && { target }), ...more });
    }
    return { dry_run: true };
  }
  const { events, replayed } = locked(home, () => {
    const store = load(home);
    const done = key === undefined ? undefined : store.keys.get(key);
    if (done) {
      if (JSON.stringify(done.request) === JSON.stringify(request)) return { events: done.events, replayed: true };
      throw new Fail('conflict', 'IDEMPOTENCY_KEY_REUSED', 'This idempotency key was used for another call');
    }
    checkKnown(store, changes);
    const made = changes.map((planned) => apply(store, planned));
    if (key !== undefined) store.keys.set(key, { request, events: made });
    save(home, store);
    return { events: made, replayed: false };
  });
  for (const event of events) await stream.send(event);
  return replayed ? { replayed } : {};
}

function checkKnown({ items }, changes) {
  if (changes.some(({ action, target }) => action === 'delete' && !items.some(({ id }) => id === target))) {
    throw new Fail('not_found', 'ITEM_NOT_FOUND', 'There is no item with this id', { target: 'ID' });
  }
}

function apply(store, { action, target, more }) {
  if (action === 'delete') {
    store.items = store.items.filter(({ id }) => id !== target);
    return { type: 'deleted', id: target };
  }
  const id = `n${store.next}`;
  store.next += 1;
  store.items.push({ id, title: target });
  return { type: 'created', id, ...more };
}

async function watch(stream) {
  let known = load(directory()).items.map(({ id }) => id);
  for (let beat = 0; ; await sleep(POLL)) {
    if (Date.now() >= beat) {
      await stream.send({ type: 'aoi:heartbeat' });
      beat = Date.now() + HEARTBEAT;
    }
    const ids = load(directory()).items.map(({ id }) => id);
    for (const id of known.filter((id) => !ids.includes(id))) await stream.send({ type: 'deleted', id });
    for (const id of ids.filter((id) => !known.includes(id))) await stream.send({ type: 'created', id });
    known = ids;
  }
}

async function doctor(stream) {
  let [ok, detail] = [true, ''];
  try {
    detail = `${load(directory()).items.length} items`;
  } catch (error) {
    [ok, detail] = [false, error.message];
  }
  await stream.send({ type: 'aoi:check', name: 'store', ok, severity: ok ? 'info' : 'error', detail });
  stream.errors = ok ? 0 : 1;
  return {};
}

const COMMANDS = new Map(Object.entries({ search, list, create, delete: remove, import: importItems, watch, doctor }));

async function run(stream, [first, ...words]) {
  const text = readFileSync(new URL('contract.json', import.meta.url), 'utf8');
  const contract = JSON.parse(text.replaceAll('{tool}', TOOL).replaceAll('{version}', VERSION));
  if ([first, ...words].some((word) => word === '--help' || word === '-h') || (first === '--version' && !words.length)) {
    await stream.write(first === '--version' ? `${TOOL} ${VERSION}\n` : contract.help);
    return 0;
  }
  const command = Object.hasOwn(contract.inputs, first ?? '') ? first : undefined;
  try {
    if (!command) throw new Fail('usage', 'UNKNOWN_COMMAND', 'The first argument is not a command');
    if (!COMMANDS.has(command)) {
      const options = readOptions(contract.inputs[command], words);
      await stream.write(`${JSON.stringify(options.command ? contract.inputs[options.command] : contract[command])}\n`);
      return 0;
    }
    await stream.meta(command);
    const more = await COMMANDS.get(command)(stream, readOptions(contract.inputs[command], words));
    const ok = stream.errors === 0;
    await stream.finish(ok, more);
    return ok ? 0 : EXIT.validation;
  } catch (error) {
    const fail = error instanceof Fail ? error : new Fail('internal', 'INTERNAL', 'Something unexpected happened');
    if (!COMMANDS.has(command)) await stream.meta(command);
    await stream.send(fail.event);
    await stream.finish(false);
    return EXIT[fail.category];
  }
}

process.exit(await run(new Stream(), argv.slice(2)));

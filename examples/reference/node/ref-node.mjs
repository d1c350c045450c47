#!/usr/bin/env node
// A conforming AOI tool in plain Node: no dependencies.
//
// Here: what happens from start to exit. commands.mjs is what the tool does, stream.mjs its output side, intake.mjs its
// input side, arguments.mjs the command line, store.mjs the data, contract.json the documents that discovery prints.

import { readFileSync } from 'node:fs';
import { commandPosition, readOptions } from './arguments.mjs';
import { COMMANDS } from './commands.mjs';
import { EXIT, Fail, Stream } from './stream.mjs';

const TOOL = 'ref-node';
const VERSION = '1.4.0';
const DISCOVERY = ['schema', 'input-schema', 'capabilities'];

/** What else the meta event of a command says. Never arguments as they were typed. */
function particulars(command, options) {
  return {
    ...(command === 'import' && { input_mode: 'jsonl', continue_on_error: Boolean(options['continue-on-error']) }),
    ...(command === 'watch' && { unbounded: true, heartbeat_interval: options.heartbeat ?? 2 }),
    ...(options['dry-run'] && { dry_run: true }),
  };
}

async function discover(stream, contract, command, options) {
  const document = command === 'input-schema' ? contract.inputs[options.command] : contract[command];
  if ((options.output ?? options.format) === 'jsonl') {
    await stream.meta(command);
    await stream.send({ type: 'discovery_document', name: command, content: document });
    await stream.finish({ ok: true });
  } else {
    await stream.text(`${JSON.stringify(document)}\n`);
  }
  return 0;
}

async function run(stream, argv) {
  const text = readFileSync(new URL('./contract.json', import.meta.url), 'utf8');
  const contract = JSON.parse(text.replaceAll('{tool}', TOOL).replaceAll('{version}', VERSION));
  const { inputs, help } = contract;
  const words = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  if (words.includes('--help') || words.includes('-h')) {
    await stream.text(help);
    return 0;
  }
  const position = commandPosition(inputs[''].properties, argv);
  let command = position >= 0 && Object.hasOwn(inputs, argv[position]) ? argv[position] : '';
  let introduced = false;
  try {
    if (position >= 0 && !command) {
      const argument = position + 1;
      throw new Fail('usage', 'UNKNOWN_COMMAND', `Argument ${argument} is not a command`, { argument });
    }
    const options = readOptions(inputs[command], argv, position);
    if (options.version) {
      await stream.text(`${TOOL} ${VERSION}\n`);
      return 0;
    }
    command ||= DISCOVERY.find((name) => name in options) ?? '';
    if (!command) throw new Fail('usage', 'MISSING_COMMAND', 'A command is missing');
    if (DISCOVERY.includes(command)) return await discover(stream, contract, command, options);
    await stream.meta(command, particulars(command, options));
    introduced = true;
    return await COMMANDS[command](stream, options) ? 0 : EXIT.validation;
  } catch (error) {
    if (!introduced) await stream.meta(command);
    // The last resort: no stack trace, whatever happened.
    const fail = error instanceof Fail ? error : new Fail('internal', 'INTERNAL', 'Something unexpected happened');
    await stream.send({ ...fail.event, ...(fail.category === 'usage' && { hint: `${TOOL} --help` }) });
    await stream.finish({ ok: false });
    return EXIT[fail.category];
  }
}

const stream = new Stream(TOOL, VERSION);
process.exit(await run(stream, process.argv.slice(2)));

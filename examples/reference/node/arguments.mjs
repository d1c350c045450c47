// The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.
//
// Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options
// that exist, or the number of the argument. Names are looked up with Object.hasOwn: `--constructor` is no option.

import { Fail } from './stream.mjs';

const isOption = (label) => label.startsWith('--');
const find = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);
const misuse = (code, message, details) => new Fail('usage', code, message, details);

/** Where the command is: the first word that is neither an option nor the value of one. -1 if there is none. */
export function commandPosition(known, argv) {
  for (let index = 0; index < argv.length; index += 1) {
    if (!argv[index].startsWith('-')) return index;
    const rule = isOption(argv[index]) ? find(known, argv[index].slice(2)) : undefined;
    if (rule && rule.type !== 'boolean') index += 1;
  }
  return -1;
}

/** Everything but the word at `position`, as values by name. */
export function readOptions(schema, argv, position) {
  const rules = schema.properties;
  const operand = Object.keys(rules).find((name) => !isOption(rules[name]['x-cli']));
  const options = {};
  let onlyOperands = false;
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index];
    if (index === position) continue;
    if (onlyOperands || !word.startsWith('-') || word === '-') takeOperand(rules, operand, options, word, index + 1);
    else if (word === '--') onlyOperands = true;
    else index = takeOption(rules, options, argv, index);
  }
  for (const name of schema.required) {
    const label = rules[name]['x-cli'];
    if (name in options) continue;
    throw misuse(isOption(label) ? 'MISSING_OPTION' : 'MISSING_OPERAND', `${label} is missing`, { target: label });
  }
  return options;
}

function takeOperand(rules, name, options, word, argument) {
  if (name && rules[name].type === 'array') (options[name] ??= []).push(word);
  else if (name && !(name in options)) options[name] = word;
  else throw misuse('UNEXPECTED_OPERAND', `Argument ${argument} is an operand too many`, { argument });
}

/** Take the option at `index`; the index of the last argument that belongs to it. */
function takeOption(rules, options, argv, index) {
  const [, label, given] = /^([^=]*)(?:=(.*))?$/s.exec(argv[index]);
  const name = label.slice(2);
  const rule = find(rules, name);
  if (rule?.['x-cli'] !== label) {
    throw misuse('UNKNOWN_OPTION', `Argument ${index + 1} is not an option here`, { argument: index + 1 });
  }
  if (rule.type === 'boolean') {
    if (given !== undefined) throw misuse('INVALID_VALUE', `${label} takes no value`, { target: label });
    options[name] = true;
    return index;
  }
  if (given !== undefined) {
    options[name] = value(rule, given);
    return index;
  }
  if (index + 1 === argv.length || isOption(argv[index + 1])) {
    throw misuse('MISSING_VALUE', `${label} needs a value`, { target: label });
  }
  options[name] = value(rule, argv[index + 1]);
  return index + 1;
}

function value(rule, text) {
  if (rule.enum?.includes(text)) return text;
  if (rule.type === 'integer' && /^[0-9]{1,9}$/.test(text)) {
    const number = Number(text);
    if (number >= rule.minimum && number <= rule.maximum) return number;
  }
  if (rule.type === 'string' && text.length >= (rule.minLength ?? 0)) return text;
  const message = `${rule['x-cli']} must be ${rule['x-expects']}`;
  throw misuse(rule['x-code'] ?? 'INVALID_VALUE', message, { target: rule['x-cli'] });
}

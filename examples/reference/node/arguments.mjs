// The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.
//
// Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options
// that exist, or the number of the argument.

import { Fail } from './stream.mjs';

/** Values by name, from everything after the command. */
export function readOptions(schema, words) {
  // A Map: `--constructor` is an option of every object.
  const rules = new Map(Object.entries(schema.properties).map(([name, rule]) => [rule['x-cli'], { name, rule }]));
  const operand = [...rules.values()].find(({ rule }) => !rule['x-cli'].startsWith('--'));
  const options = {};
  let onlyOperands = false;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index];
    const number = index + 2; // the command was the first argument
    const [label] = word.split('=', 1);
    const found = rules.get(label);
    if (word === '--' && !onlyOperands) onlyOperands = true;
    else if (onlyOperands || word === '-' || !word.startsWith('-')) {
      if (!operand || operand.name in options) throw unexpected(number);
      options[operand.name] = readValue(operand.rule, word);
    } else if (!found || !label.startsWith('--')) throw unexpected(number);
    else if (found.rule.type === 'boolean' && label === word) options[found.name] = true;
    else if (label !== word) options[found.name] = readValue(found.rule, word.slice(label.length + 1));
    else {
      index += 1;
      if (index === words.length || words[index].startsWith('--')) {
        throw new Fail('usage', 'MISSING_VALUE', `${label} needs a value`, { target: label });
      }
      options[found.name] = readValue(found.rule, words[index]);
    }
  }
  for (const name of schema.required) {
    const target = schema.properties[name]['x-cli'];
    if (!(name in options)) throw new Fail('usage', 'MISSING_ARGUMENT', `${target} is missing`, { target });
  }
  return options;
}

function readValue(rule, text) {
  if (rule.enum?.includes(text)) return text;
  if (rule.type === 'string' && text.length >= (rule.minLength ?? 0)) return text;
  if (rule.type === 'integer' && /^[0-9]{1,9}$/.test(text) && text >= rule.minimum && text <= rule.maximum) return Number(text);
  const target = rule['x-cli'];
  const message = `${target} must be ${rule['x-expects']}`;
  throw new Fail('usage', rule['x-code'] ?? 'INVALID_VALUE', message, { target });
}

function unexpected(number) {
  const message = `Argument ${number} is not expected here`;
  return new Fail('usage', 'UNEXPECTED_ARGUMENT', message, { argument: number });
}

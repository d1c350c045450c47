// JSON as the Python reader takes it: RFC 8259 and nothing more, integers exact, and a word for everything that is doubtful.
//
// `JSON.parse` is not enough: it rounds integers beyond 2^53, it does not say that an object has a key twice, and it turns
// half of a character into one that no UTF-8 holds. Integers that a number cannot hold are bigints here.

export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Levels of lists and objects inside of each other; the Python reader takes about as many. */
export const DEEPEST = 900;
const DIGITS = 4300;

export class SyntaxFault extends Error {}
export class DepthFault extends Error {}

/** A value, and what the grammar allows and a reader must know. */
export interface Parsed {
  value: Json;
  /** The first key, in the order of the alphabet, that an object has twice. */
  repeated: string | undefined;
  /** Numbers that no double holds, and integers that are too long, as they are written. */
  outOfRange: string[];
  /** The first half of a character, as it would be escaped. */
  lone: string | undefined;
  /** Keys of the outermost object whose value is written as a fraction, though it may be whole. */
  fractions: Set<string>;
}

export function parse(text: string): Parsed {
  const reader = new TextReader(text);
  const value = reader.document();
  const repeated = [...reader.repeated].sort(byCodePoint)[0];
  return { value, repeated, outOfRange: reader.outOfRange, lone: firstLone(value), fractions: reader.fractions };
}

/** One line of JSON without white space; bigints as digits. */
export function stringify(value: Json): string {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  if (value !== null && typeof value === "object") {
    return `{${Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}:${stringify(each)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

export const isObject = (value: Json): value is JsonObject => value !== null && typeof value === "object" && !Array.isArray(value);

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \t\r\n]*/y;
const HEX = /^[0-9a-fA-F]{4}$/;
const ESCAPES: Record<string, string> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

class TextReader {
  readonly repeated = new Set<string>();
  readonly outOfRange: string[] = [];
  readonly fractions = new Set<string>();
  private at = 0;
  private wasFraction = false;

  constructor(private readonly text: string) {}

  document(): Json {
    const value = this.value(0);
    this.space();
    if (this.at !== this.text.length) throw new SyntaxFault(`trailing characters at ${this.at}`);
    return value;
  }

  private value(depth: number): Json {
    this.space();
    this.wasFraction = false;
    switch (this.text[this.at]) {
      case "{":
        return this.object(this.deeper(depth));
      case "[":
        return this.list(this.deeper(depth));
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  private deeper(depth: number): number {
    if (depth >= DEEPEST) throw new DepthFault("nested too deep");
    this.at += 1;
    return depth + 1;
  }

  private object(depth: number): JsonObject {
    // Without a prototype, and by definition: a key called __proto__ is a key like any other.
    const found: JsonObject = Object.create(null) as JsonObject;
    if (this.skips("}")) return found;
    do {
      this.space();
      if (this.text[this.at] !== '"') throw new SyntaxFault(`object keys must be strings, at ${this.at}`);
      const key = this.string();
      this.need(":");
      const value = this.value(depth);
      if (key in found) this.repeated.add(key);
      found[key] = value;
      if (depth === 1) this.wasFraction ? this.fractions.add(key) : this.fractions.delete(key);
      this.wasFraction = false;
    } while (this.skips(","));
    this.need("}");
    return found;
  }

  private list(depth: number): Json[] {
    const found: Json[] = [];
    if (this.skips("]")) return found;
    do found.push(this.value(depth));
    while (this.skips(","));
    this.need("]");
    this.wasFraction = false;
    return found;
  }

  private string(): string {
    let found = "";
    this.at += 1;
    for (;;) {
      found += this.match(PLAIN) ?? "";
      const next = this.text[this.at];
      this.at += 1;
      if (next === '"') return found;
      if (next !== "\\") throw new SyntaxFault(`a text does not end, or has a control character, at ${this.at - 1}`);
      found += this.escape();
    }
  }

  private escape(): string {
    const letter = this.text[this.at] ?? "";
    this.at += 1;
    if (letter !== "u") {
      const meant = ESCAPES[letter];
      if (meant === undefined) throw new SyntaxFault(`an unknown escape at ${this.at - 1}`);
      return meant;
    }
    const digits = this.text.slice(this.at, this.at + 4);
    if (!HEX.test(digits)) throw new SyntaxFault(`not four digits at ${this.at}`);
    this.at += 4;
    return String.fromCharCode(parseInt(digits, 16));
  }

  private number(): number | bigint {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (found === null) throw new SyntaxFault(`not a value at ${this.at}`);
    this.at = NUMBER.lastIndex;
    const digits = found[0];
    const value = Number(digits);
    this.wasFraction = found[1] !== undefined || found[2] !== undefined;
    if (this.wasFraction) {
      if (!Number.isFinite(value)) this.outOfRange.push(digits);
      return value;
    }
    if (digits.length > DIGITS) {
      this.outOfRange.push(digits);
      return 0;
    }
    return Number.isSafeInteger(value) ? value : BigInt(digits);
  }

  private word<Value>(letters: string, value: Value): Value {
    if (!this.text.startsWith(letters, this.at)) throw new SyntaxFault(`not a value at ${this.at}`);
    this.at += letters.length;
    return value;
  }

  private need(letter: string): void {
    if (!this.skips(letter)) throw new SyntaxFault(`expected ${letter} at ${this.at}`);
  }

  private skips(letter: string): boolean {
    this.space();
    if (this.text[this.at] !== letter) return false;
    this.at += 1;
    return true;
  }

  private space(): void {
    this.match(SPACE);
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}

function firstLone(value: Json): string | undefined {
  if (typeof value === "string") {
    const found = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(value);
    return found ? `\\u${found[0].charCodeAt(0).toString(16)}` : undefined;
  }
  if (value === null || typeof value !== "object") return undefined;
  const parts: Json[] = Array.isArray(value) ? value : Object.entries(value).flat();
  for (const part of parts) {
    const found = firstLone(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

function byCodePoint(one: string, other: string): number {
  const left = Array.from(one, (letter) => letter.codePointAt(0) ?? 0);
  const right = Array.from(other, (letter) => letter.codePointAt(0) ?? 0);
  const at = left.findIndex((point, index) => point !== right[index]);
  return at < 0 ? left.length - right.length : (left[at] ?? -1) - (right[at] ?? -1);
}

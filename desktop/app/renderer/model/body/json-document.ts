/**
 * Parses a JSON text (RFC 8259) into a tree over the text itself: `JSON.parse` would round numbers and drop all but the
 * last of repeated names. Does not recurse, so any depth of nesting works.
 */

type JsonKind = 'object' | 'array' | 'string' | 'number' | 'literal';

/** Nodes are numbered in the order of the text; 0 is the root. */
export interface JsonDocument {
  readonly text: string;
  readonly nodes: readonly JsonNode[];
  /** whether the text ends before the document: only its beginning is shown */
  readonly isCut: boolean;
}

export interface JsonNode {
  readonly kind: JsonKind;
  /** start in the text */
  readonly start: number;
  /** one past its end */
  end: number;
  /** name as a JSON string; only members of an object have one */
  readonly name: string | undefined;
  /** number of the containing node; -1 for the root */
  readonly parent: number;
  /** position among its siblings, from 0 */
  readonly index: number;
  /** number of members or elements */
  count: number;
  /** number of the first node after it and its contents */
  next: number;
  /** whether the text ends within it: it has more members or elements */
  isCut?: true;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERAL = /true|false|null/y;
/** A number or a word at the end of the text may be incomplete. */
const LAST_PART = /(?:[-+.\deE]+|t|tr|tru|f|fa|fal|fals|n|nu|nul)$/y;
const LAST_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?$/y;
const [QUOTE, BACKSLASH, LEAST_IN_STRING] = [0x22, 0x5c, 0x20];
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const ESCAPE = /["\\/bfnrt]|u[\da-fA-F]{4}/y;

/** Thrown if the text ends too early. */
class Cut extends Error {}
/** Thrown for invalid JSON. */
class Wrong extends Error {}

/**
 * Parses a document whose root is an object or an array.
 *
 * @param mayBeCut whether the text may be the beginning of a longer one
 * @returns `undefined` for anything else
 */
export function readJson(text: string, mayBeCut: boolean): JsonDocument | undefined {
  const reader = new Reader(text);
  try {
    reader.read();
  } catch (error) {
    if (!(error instanceof Cut || error instanceof Wrong)) throw error;
    const isShown = error instanceof Cut && mayBeCut && reader.nodes.length > 0;
    if (!isShown) return undefined;
    reader.closeAll();
    return { text, nodes: reader.nodes, isCut: true };
  }
  return isTree(reader.nodes[0]) ? { text, nodes: reader.nodes, isCut: false } : undefined;
}

function isTree(root: JsonNode | undefined): boolean {
  return root?.kind === 'object' || root?.kind === 'array';
}

/** The position at which a text stops being JSON. */
interface JsonFault {
  /** counted from 1 */
  readonly line: number;
  /** in the line, counted from 1, in UTF-16 units as in editors */
  readonly column: number;
  /** a few characters of the text there; `''` at the end of the text */
  readonly found: string;
}

/** Characters shown at a fault. */
const FOUND_CHARACTERS = 16;

/** @returns `undefined` if the text is JSON */
export function jsonFault(text: string): JsonFault | undefined {
  const reader = new Reader(text);
  try {
    reader.read();
    return undefined;
  } catch (error) {
    if (!(error instanceof Cut || error instanceof Wrong)) throw error;
    const at = error instanceof Cut ? text.length : reader.at;
    const before = text.slice(0, at).split(/\r\n?|\n/);
    const [found = ''] = text.slice(at, at + FOUND_CHARACTERS).split(/[\r\n]/);
    return { line: before.length, column: (before.at(-1) ?? '').length + 1, found: found.toWellFormed() };
  }
}

class Reader {
  readonly nodes: JsonNode[] = [];
  readonly #text: string;
  /** numbers of the open objects and arrays, the innermost last */
  readonly #open: number[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The position of the parser. */
  get at(): number {
    return this.#at;
  }

  read(): void {
    this.#skipSpace();
    do this.#readValue();
    while (this.#open.length > 0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw new Wrong();
  }

  closeAll(): void {
    for (const number of this.#open) (this.nodes[number] as JsonNode).isCut = true;
    while (this.#open.length > 0) this.#close(this.#text.length);
  }

  /**
   * Reads one value with its name (only the start of an object or array), and the ends of containers that end after it.
   */
  #readValue(): void {
    const name = this.#parent?.kind === 'object' ? this.#readName() : undefined;
    const start = this.#at;
    const first = this.#next();
    if (first === '{' || first === '[') {
      this.#at += 1;
      const number = this.#add(first === '{' ? 'object' : 'array', start, name);
      this.#open.push(number);
      this.#skipSpace();
      if (this.#next() !== closerOf(first)) return;
      this.#at += 1;
      this.#close(this.#at);
    } else {
      const kind = first === '"' ? 'string' : '-0123456789'.includes(first) ? 'number' : 'literal';
      if (kind === 'string') this.#skipString();
      else this.#skipMatch(kind === 'number' ? NUMBER : LITERAL);
      this.#add(kind, start, name);
    }
    this.#readEnds();
  }

  /** Reads the ends of containers after a value, up to the comma before the next value. */
  #readEnds(): void {
    for (let parent = this.#parent; parent !== undefined; parent = this.#parent) {
      this.#skipSpace();
      const next = this.#next();
      if (next === ',') {
        this.#at += 1;
        this.#skipSpace();
        return;
      }
      if (next !== closerOf(parent.kind === 'object' ? '{' : '[')) throw new Wrong();
      this.#at += 1;
      this.#close(this.#at);
    }
  }

  get #parent(): JsonNode | undefined {
    return this.nodes[this.#open.at(-1) ?? -1];
  }

  #add(kind: JsonKind, start: number, name: string | undefined): number {
    const number = this.nodes.length;
    const parent = this.#parent;
    const index = parent?.count ?? 0;
    if (parent !== undefined) parent.count += 1;
    const parentNumber = this.#open.at(-1) ?? -1;
    this.nodes.push({
      kind,
      start,
      end: this.#at,
      name,
      parent: parentNumber,
      index,
      count: 0,
      next: number + 1,
    });
    return number;
  }

  #close(end: number): void {
    const node = this.nodes[this.#open.pop() ?? -1];
    if (node === undefined) return;
    node.end = end;
    node.next = this.nodes.length;
  }

  #readName(): string {
    const start = this.#at;
    if (this.#next() !== '"') throw new Wrong();
    this.#skipString();
    const name = this.#text.slice(start, this.#at);
    this.#skipSpace();
    if (this.#next() !== ':') throw new Wrong();
    this.#at += 1;
    this.#skipSpace();
    return name;
  }

  #next(): string {
    if (this.#at >= this.#text.length) throw new Cut();
    return this.#text.charAt(this.#at);
  }

  #skipSpace(): void {
    while (SPACES.has(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  /** Character by character, because a regular expression would need memory for each character. */
  #skipString(): void {
    const text = this.#text;
    let at = this.#at + 1;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      this.#at = at;
      if (Number.isNaN(code)) throw new Cut();
      if (code < LEAST_IN_STRING) throw new Wrong();
      at += 1;
      if (code !== BACKSLASH) continue;
      ESCAPE.lastIndex = at;
      LAST_ESCAPE.lastIndex = this.#at;
      if (!ESCAPE.test(text)) throw LAST_ESCAPE.test(text) ? new Cut() : new Wrong();
      at = ESCAPE.lastIndex;
    }
    this.#at = at + 1;
  }

  #skipMatch(pattern: RegExp): void {
    LAST_PART.lastIndex = this.#at;
    if (this.#open.length > 0 && LAST_PART.test(this.#text)) throw new Cut();
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) throw new Wrong();
    this.#at = pattern.lastIndex;
  }
}

function closerOf(opener: '{' | '['): string {
  return opener === '{' ? '}' : ']';
}

/** The source text of a node. */
export function sourceOf({ text }: JsonDocument, { start, end }: JsonNode): string {
  return text.slice(start, end);
}

/** Numbers of the members or elements of a node, the first `count` of them. */
export function childrenOf({ nodes }: JsonDocument, parent: number, count: number): number[] {
  const children: number[] = [];
  for (let at = parent + 1; children.length < count && at < (nodes[parent]?.next ?? 0);) {
    children.push(at);
    at = nodes[at]?.next ?? Infinity;
  }
  return children;
}

/** Finds the regular expressions of the sources. */
import { readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';

/** A regular expression as written in a source. */
export interface Pattern {
  readonly source: string;
  readonly flags: string;
}

/** The regular expressions of a file. */
export interface FilePatterns {
  readonly literals: readonly Pattern[];
  /** how many are composed at run time, by `new RegExp` */
  readonly composed: number;
}

/** Reads the regular expressions of a TypeScript file, with or without JSX. */
export function patternsIn(file: URL): FilePatterns {
  const loader = file.pathname.endsWith('.tsx') ? 'tsx' : 'ts';
  const text = readFileSync(file, 'utf8').replace(/^#!.*/, '');
  const { code } = transformSync(text, { loader, target: 'esnext', legalComments: 'none' });
  return { literals: literalsIn(code), composed: code.match(/\bnew RegExp\(/g)?.length ?? 0 };
}

/** Keywords that can precede an expression. After any other word, a slash divides. */
const BEFORE_EXPRESSION =
  /(?:^|[^\w$.])(?:return|typeof|case|in|of|void|delete|throw|new|else|do|await|yield)$/;

/**
 * Finds the literals in JavaScript as esbuild prints it.
 *
 * @param code without JSX and without comments where an expression may begin
 */
export function literalsIn(code: string): Pattern[] {
  const found: Pattern[] = [];
  /** For each open template: how many braces are open in the expression being read. */
  const braces: number[] = [];
  let before = '';
  for (let at = 0; at < code.length;) {
    const character = code[at] as string;
    if (character === '/' && code[at + 1] === '*') at = code.indexOf('*/', at) + 2;
    else if (character === '/' && code[at + 1] === '/') at = code.indexOf('\n', at);
    else if (character === '"' || character === "'") {
      at = stringEnd(code, at);
      before = '"';
    } else if (character === '`' || (character === '}' && braces.at(-1) === 0)) {
      if (character === '}') braces.pop();
      at = templateEnd(code, at + 1);
      if (code[at - 1] === '{') braces.push(0);
      before = code[at - 1] === '{' ? '(' : '"';
    } else if (character === '/' && beginsExpression(before)) {
      const end = literalEnd(code, at);
      const flags = /^[a-z]*/.exec(code.slice(end, end + 10))?.[0] ?? '';
      found.push({ source: code.slice(at + 1, end - 1), flags });
      at = end + flags.length;
      before = '"';
    } else {
      if (character === '{' && braces.length > 0) braces.push((braces.pop() ?? 0) + 1);
      if (character === '}' && braces.length > 0) braces.push((braces.pop() ?? 0) - 1);
      if (/\S/.test(character)) before = /[\w$]/.test(character) ? before + character : character;
      else if (/[\w$]$/.test(before)) before += ' ';
      at += 1;
    }
  }
  return found;
}

function beginsExpression(before: string): boolean {
  const last = before.trimEnd();
  return last === '' || /[-(,=:[!&|?{;+*%<>~^]$/.test(last) || BEFORE_EXPRESSION.test(last);
}

function stringEnd(code: string, start: number): number {
  let at = start + 1;
  while (code[at] !== code[start]) at += code[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** @returns the index after the end of a template, or after the `${` of an expression in it */
function templateEnd(code: string, start: number): number {
  let at = start;
  while (code[at] !== '`') {
    if (code.startsWith('${', at)) return at + 2;
    at += code[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}

/** @returns the index after the second slash */
function literalEnd(code: string, start: number): number {
  let isInClass = false;
  for (let at = start + 1; ; at += 1) {
    if (code[at] === '\\') at += 1;
    else if (code[at] === '[') isInClass = true;
    else if (code[at] === ']') isInClass = false;
    else if (code[at] === '/' && !isInClass) return at + 1;
  }
}

/**
 * How long the regular expressions of the programs take. Most of them read input of a visitor, a local service or a
 * relay, which may be as long as the limits allow. All are checked, because a pattern for trusted text today may read
 * other text tomorrow.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';

const ROOT = new URL('../../', import.meta.url);
/** ms for a pattern that has not been checked yet. */
const CHECK_MS = 20_000;

/** Known to be linear (by `recheck`, which takes a minute for all of them). Any other is checked when the test runs. */
const LINEAR: ReadonlySet<string> = new Set(
  JSON.parse(readFileSync(new URL('linear-patterns.json', import.meta.url), 'utf8')) as string[],
);

/** Patterns that `recheck` cannot decide or finds slow, and why they are acceptable. */
const REVIEWED: ReadonlyMap<string, string> = new Map([
  [
    '/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g',
    'linear: the part without hyphens ends where the next start may be',
  ],
  [
    String.raw`/-----BEGIN CERTIFICATE-----[\w+/=\s]+-----END CERTIFICATE-----/g`,
    'linear: the part without hyphens ends where the next start may be',
  ],
  [
    String.raw`/^process_max_fds(?:\{[^}]*\})? (\S+)$/m`,
    'reads the metrics of the relay on this machine, which have one such line',
  ],
  [
    String.raw`/[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u{200C}\u{200D}]]/v`,
    'one character; recheck does not know the flag',
  ],
  [
    String.raw`/^ *TCP +\S+:(\d+) +(?:0\.0\.0\.0|\[::\]):0 +\S+ +(\d+)\s*?$/gm`,
    'reads lines of netstat, which has no words of others in them',
  ],
  [String.raw`/(\d+(?:\.\d+)?)w(?:eeks?|ochen?)?/g`, 'reads a lifetime that the user types'],
  [String.raw`/(\d+(?:\.\d+)?)(?:d(?:ays?)?|tage?)/g`, 'reads a lifetime that the user types'],
  [String.raw`/^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/`, "reads NO_PROXY of the user's own environment"],
  [String.raw`/(\\*)"/g`, 'quotes an argument that the user types'],
  [String.raw`/(\\+)$/`, 'quotes an argument that the user types'],
  [String.raw`/<g id="mark"[\s\S]*<\/g>/`, 'reads the drawing of the icon when the app is built'],
]);

/** Files that compose patterns, how many, and why each is linear. */
const COMPOSED: ReadonlyMap<string, readonly [number, string]> = new Map([
  ['shared/access.ts', [2, 'one kind of characters, up to 256 times']],
  ['shared/links.ts', [1, 'one character, up to 64 times']],
  ['shared/networks.ts', [1, 'at most 15 characters']],
  ['shared/unprintable.ts', [2, 'one character']],
  ['shared/http1/body.ts', [1, 'recheck finds it linear; at most 1,024 characters']],
  [
    'desktop/app/renderer/model/body/find.ts',
    [1, 'the text that is searched for, with nothing special in it'],
  ],
  ['desktop/app/renderer/model/body/body-view.ts', [1, 'recheck finds it linear']],
  ['desktop/client/relay/api-responses.ts', [1, 'linear: what may follow the start ends at the next start']],
  ['desktop/cli/format.ts', [2, 'one kind of characters']],
  ['desktop/cli/view/terminal-view.ts', [1, 'reads what the user types']],
]);

const files = globSync(['desktop/**/*.{ts,tsx}', 'shared/**/*.ts', 'server/**/*.ts'], { cwd: ROOT }).filter(
  (path) => !/\.test\.tsx?$|\/testing\//.test(path),
);

describe('regular expressions of the programs', () => {
  let found: ReadonlyMap<string, FilePatterns>;

  before(() => {
    found = new Map(files.map((path) => [path.replaceAll('\\', '/'), patternsIn(new URL(path, ROOT))]));
  });

  it('take time that grows linearly with the length of the text', async () => {
    const slow: string[] = [];
    for (const [path, { literals }] of found)
      for (const pattern of literals)
        if (!(await isLinear(pattern))) slow.push(`${path}: ${written(pattern)}`);
    assert.deepEqual(slow, [], 'rewrite it so that no part may begin anew within what another has read');
  });

  it('are composed only in these files', () => {
    const composed = [...found].filter(([, patterns]) => patterns.composed > 0);
    assert.deepEqual(
      composed.map(([path, patterns]) => `${path} ${patterns.composed}`).toSorted(),
      [...COMPOSED].map(([path, [count]]) => `${path} ${count}`).toSorted(),
    );
  });

  it('are found anywhere in a source', () => {
    const code = [
      'const a = /a/g, b = x / y / z;',
      'f(/[/\'"`]\\//u, \'/no/\', "/no/");',
      'const c = `${/c/.test(`${d / e} /no/`) ? { f: /f/ } : 1} /no/`;',
      'return /g/; /* /no/ */ // /no/',
      'n = (1) / 2 / 3; m = a[0] / 2 / 1;',
      '',
    ].join('\n');
    assert.deepEqual(literalsIn(code).map(written), ['/a/g', '/[/\'"`]\\//u', '/c/', '/f/', '/g/']);
  });

  it('are recognized when they are slow', async () => {
    for (const source of ['([?&;#])([^=&;#]*)=([^&;#\\s]+)', '^(?:a|a)*$', '\\s+$'])
      assert.equal(await isLinear({ source, flags: 'g' }), false, source);
  });
});

function written({ source, flags }: Pattern): string {
  return `/${source}/${flags}`;
}

async function isLinear(pattern: Pattern): Promise<boolean> {
  const text = written(pattern);
  if (LINEAR.has(text) || REVIEWED.has(text)) return true;
  // In this process: the programs that the package would otherwise start are not available on every system.
  process.env['RECHECK_SYNC_BACKEND'] = 'pure';
  const { checkSync } = await import('recheck');
  return checkSync(pattern.source, pattern.flags, { timeout: CHECK_MS }).status === 'safe';
}

/** A regular expression as written in a source. */
interface Pattern {
  readonly source: string;
  readonly flags: string;
}

/** The regular expressions of a file. */
interface FilePatterns {
  readonly literals: readonly Pattern[];
  /** how many are composed at run time, by `new RegExp` */
  readonly composed: number;
}

/** Reads the regular expressions of a TypeScript file, with or without JSX. */
function patternsIn(file: URL): FilePatterns {
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
function literalsIn(code: string): Pattern[] {
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

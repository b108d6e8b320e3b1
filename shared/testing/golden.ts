import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { escapeUnprintable } from '../unprintable.ts';

/** A command line as typed in a shell. */
export interface Typed {
  /** the settings before the program's name */
  readonly env: Readonly<Record<string, string>>;
  /** the words after the program's name */
  readonly words: readonly string[];
}

/** What came of a command. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** requests that a relay got */
  readonly calls?: readonly string[];
}

/** What the commands of one file run in. */
export interface World {
  /** Gets what a line gives. */
  give(line: string): unknown;
  run(typed: Typed): Promise<Ran>;
}

/** Values that differ at each run. A name that ends with `_` is numbered: the same value has the same number. */
export type Placeholders = Readonly<Record<string, RegExp>>;

/**
 * Declares a test for each file of a folder: its commands must print what the file contains. `UPDATE=1` writes the files instead.
 *
 * A line is one of these; the first three are written by hand, as are empty lines:
 *
 *     # a comment
 *     < what the commands below are given
 *     $ NAME=VALUE program 'a word' another
 *     | a line of standard output
 *     ! a line of standard error
 *     > a request that the relay got
 *     = the exit code, unless it is 0, and the command whose help standard error points to at last
 */
export function goldenFiles(folder: string, start: () => World | Promise<World>, values: Placeholders): void {
  for (const name of readdirSync(folder)) {
    it(name, async () => {
      const path = join(folder, name);
      const text = readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
      const printed = await play(text.split('\n'), await start(), new Names(values));
      if (process.env['UPDATE'] === '1') writeFileSync(path, printed);
      else assert.equal(printed, text);
    });
  }
}

async function play(lines: readonly string[], world: World, names: Names): Promise<string> {
  const played: string[] = [];
  for (const line of lines.filter((each) => !/^[|!>=]/.test(each))) {
    played.push(line);
    const [, kind, rest = ''] = /^([<$]) (.*)/.exec(line) ?? [];
    if (kind === '<') await world.give(names.resolve(rest));
    if (kind === '$') played.push(...shown(await world.run(readTyped(names.resolve(rest)))).map(names.hide));
  }
  return played.join('\n');
}

/** Reads `\n`, `\r` and `\u202e`, which a line cannot contain. */
export function readEscapes(text: string): string {
  return text.replaceAll(/\\(?:n|r|u[\da-f]{4})/g, (escape) => JSON.parse(`"${escape}"`) as string);
}

function readTyped(line: string): Typed {
  const words = [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) =>
    readEscapes(word.replaceAll("'", '')),
  );
  const program = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const env = words.slice(0, program).map((word) => [word.split('=', 1)[0], word.replace(/^.*?=/, '')]);
  return { env: Object.fromEntries(env) as Typed['env'], words: words.slice(program + 1) };
}

const HELP = /\nRun ("[^"\n]*") for usage and examples\.\n$/;

function shown({ code, out, err, calls = [] }: Ran): string[] {
  const [, help = ''] = HELP.exec(err) ?? [];
  return [
    ...marked('|', out),
    ...marked('!', err.replace(HELP, '\n')),
    ...calls.map((call) => `> ${call}`),
    ...(code === 0 ? [] : [`= ${code} ${help}`.trimEnd()]),
  ];
}

function marked(mark: string, text: string): string[] {
  if (text === '') return [];
  const lines = escapeUnprintable(text.replace(/\n$/, ''), '\n\t').split('\n');
  return lines.map((line) => (line === '' ? mark : `${mark} ${line}`));
}

/** The names that stand for values in a file. */
class Names {
  readonly #values: Placeholders;
  readonly #known = new Map<string, string>();

  constructor(values: Placeholders) {
    this.#values = values;
  }

  readonly hide = (line: string): string =>
    Object.entries(this.#values).reduce(
      (text, [name, value]) => text.replaceAll(value, (found) => this.#nameOf(name, found)),
      line,
    );

  resolve(line: string): string {
    return line.replaceAll(/[A-Z]+_\d+/g, (name) => this.#known.get(name) ?? name);
  }

  #nameOf(name: string, value: string): string {
    if (!name.endsWith('_')) return name;
    for (const [known, same] of this.#known) if (same === value && known.startsWith(name)) return known;
    const count = [...this.#known.keys()].filter((known) => known.startsWith(name)).length;
    this.#known.set(`${name}${count + 1}`, value);
    return `${name}${count + 1}`;
  }
}

/**
 * Checks that all languages have every text with the same placeholders, that every text is used somewhere, and that
 * everything that people read in the window is in the catalogue and gets what its message has placeholders for.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import {
  isLiteralElement,
  isPoundElement,
  type MessageFormatElement,
  parse,
} from '@formatjs/icu-messageformat-parser';
import { parsers } from 'prettier/plugins/typescript';
import DE from './de.json' with { type: 'json' };
import { EN } from './en.ts';

const ROOT = new URL('../../../', import.meta.url);
/** Texts that are the same in German. */
const SAME = new Set([
  'access.unsetIn',
  'bench.body',
  'body.way.hex',
  'body.way.text',
  'doctor.at',
  'domain.domain',
  'failure.advised',
  'latency.milliseconds',
  'latency.minutes',
  'latency.seconds',
  'lock.kind.tokens',
  'lock.part.links',
  'lock.part.tokens',
  'lock.showTokens',
  'log.chip.failed',
  'log.chip.refused',
  'log.chip.webhooks',
  'name.label',
  'others.offline',
  'options.upstreamHttp1',
  'palette.group.ports',
  'common.findOutWhy',
  'port.label',
  'project.fieldProblem',
  'project.problem',
  'project.sentence',
  'request.curl',
  'request.phase.rest',
  'request.phase.waiting',
  'request.tab.cookies',
  'request.tab.query',
  'settings.account.relay',
  'settings.app',
  'signIn.relay',
  'signature.secret.github',
  'signature.secret.stripe',
  'state.online',
  'tray.status.online',
  'tunnels.qr',
  'tunnels.timeExample',
]);

/** Texts without a German translation. */
const UNTRANSLATED = new Set<string>([]);

const MESSAGES: Readonly<Record<string, string>> = EN;
/** Names that are the same in every language. */
const SAME_EVERYWHERE = new Set(['localhost', 'Culvert', 'localhost:', 'https://']);

function sources(pattern: string): Source[] {
  return globSync(pattern, { cwd: ROOT })
    .filter((path) => !path.includes('.test.'))
    .map((path) => ({ path, text: readFileSync(new URL(path, ROOT), 'utf8') }));
}

describe('the catalogue of texts', () => {
  const english = Object.entries(EN);
  const german: Readonly<Record<string, string>> = DE;

  it('lists what is not translated yet, and is shown in English', () => {
    const missing = Object.keys(EN).filter((key) => german[key] === undefined);
    assert.deepEqual(missing.toSorted(), [...UNTRANSLATED].toSorted());
  });

  it('has no texts in other languages that are not in English here, or with their errors and rules', () => {
    assert.deepEqual(
      Object.keys(DE).filter((key) => !Object.hasOwn(EN, key) && !/^(?:accepted|refusal)\./.test(key)),
      [],
    );
  });

  it('uses the same placeholders in all languages', () => {
    const others = english.filter(([key, message]) => {
      return placesOf(message).join() !== placesOf(german[key] ?? message).join();
    });
    assert.deepEqual(others, []);
  });

  it('is translated', () => {
    const same = english.filter(([key, message]) => message === german[key]).map(([key]) => key);
    assert.deepEqual(same.toSorted(), [...SAME].toSorted());
  });

  it('has no unused texts', () => {
    const all = sources('desktop/{app,cli,client,library}/**/*.{ts,tsx}')
      .filter(({ path }) => path !== 'desktop/client/messages.ts' && path !== 'desktop/app/messages/en.ts')
      .map(({ text }) => text)
      .join('\n');
    // Those of a kind are named by what they have in common.
    const kinds = [...all.matchAll(/\b(?:t|toMessage)\(`([\w.]+\.)\$\{/g)].map(([, kind = '']) => kind);
    const unsaid = Object.keys(EN).filter(
      (key) => !all.includes(`'${key}'`) && !kinds.some((kind) => key.startsWith(kind)),
    );
    assert.deepEqual(unsaid, []);
  });

  it('has no quotes that ICU would interpret', () => {
    const quoted = [...english, ...Object.entries(german)].filter(([, message]) => /'[{}'<#]/.test(message));
    assert.deepEqual(quoted, []);
  });
});

describe('texts of the window', () => {
  it('are in the catalogue', () => {
    const written = sources('desktop/app/renderer/**/*.tsx').flatMap((source) =>
      writtenTexts(source)
        .filter(({ text }) => !SAME_EVERYWHERE.has(text))
        .map(({ line, text }) => `${source.path}:${line}: ${text}`),
    );
    assert.deepEqual(written, []);
  });

  it('are not in style sheets', () => {
    const styled = sources('desktop/app/renderer/style/*.css').flatMap(({ text }) => styledTexts(text));
    assert.deepEqual(styled, []);
  });

  it('get values for all placeholders of their messages', () => {
    const wrong = sources('desktop/{app,client}/**/*.{ts,tsx}')
      .filter(({ text }) => /\b(?:t|rich)\(/.test(text))
      .flatMap((source) =>
        saidMessages(source, ['t', 'rich'])
          .filter(({ key, places }) => {
            const message = MESSAGES[key];
            if (message === undefined || places === undefined) return false;
            return wanted(placesOf(message)) !== wanted(places);
          })
          .map(({ line, key, places = [] }) => `${source.path}:${line}: ${key} gets ${wanted(places)}`),
      );
    assert.deepEqual(wrong, []);
  });
});

/** Names of placeholders, without the tag that is always available. */
function wanted(names: readonly string[]): string {
  return names
    .filter((name) => name !== 'b')
    .toSorted()
    .join();
}

describe('texts of a source', () => {
  it('are found wherever people read or hear them', () => {
    assert.deepEqual(texts('<p>Some words {name}</p>'), ['1 Some words']);
    assert.deepEqual(texts('<p>{isOpen ? "Open" : other}</p>'), ['1 Open']);
    assert.deepEqual(texts('<p>\n{isOpen && `${count} of`}</p>'), ['2 of']);
    assert.deepEqual(texts('<a title={"Copy " + name} />'), ['1 Copy']);
    assert.deepEqual(texts('<Field hint={hint ?? "A hint"} />'), ['1 A hint']);
    assert.deepEqual(texts('say(`${name} is gone.`)'), ['1 is gone.']);
  });

  it('exclude those of the catalogue and those that nobody reads', () => {
    assert.deepEqual(texts('<p class="dim" id="x">{t("a.b")} · 3 {kind === "x" && 1}</p>'), []);
  });

  it('are found in style sheets', () => {
    assert.deepEqual(styledTexts(".a {\n  content: '− ' / 'Before: ';\n}\n.b {\n  content: '';\n}"), [
      "'− ' / 'Before: '",
    ]);
  });

  it('include messages with the names of their values', () => {
    assert.deepEqual(said("t('a')"), [['a', []]]);
    assert.deepEqual(said("t(some ? 'a' : 'b', { x, y: 1 })"), [
      ['a', ['x', 'y']],
      ['b', ['x', 'y']],
    ]);
    assert.deepEqual(said("t('a', { ...rest })"), [['a', undefined]]);
    assert.deepEqual(said("u('a')"), []);
  });
});

function texts(text: string): string[] {
  return writtenTexts({ path: 'source.tsx', text }).map(({ line, text: found }) => `${line} ${found}`);
}

function said(text: string): [string, readonly string[] | undefined][] {
  return saidMessages({ path: 'source.ts', text }, ['t']).map(({ key, places }) => [key, places]);
}

/** A node of the syntax tree, as ESTree has them. */
interface Node {
  readonly type: string;
  readonly loc?: { readonly start: { readonly line: number } };
  readonly [part: string]: unknown;
}

/** Attributes that people read or hear, of elements and of the window's own components. */
const SHOWN = new Set([
  'alt',
  'aria-description',
  'aria-label',
  'aria-roledescription',
  'aria-valuetext',
  'hint',
  'label',
  'placeholder',
  'title',
  'what',
  'words',
]);
/** Functions whose arguments are shown to people. */
const SAYING = new Set(['say']);
const LETTER = /\p{L}/u;

/** TypeScript, with or without JSX depending on its name. */
interface Source {
  readonly path: string;
  readonly text: string;
}

interface Text {
  readonly line: number;
  readonly text: string;
}

/** A call that shows a message. */
interface Said {
  readonly line: number;
  readonly key: string;
  /** names of the passed values; `undefined` if they are built elsewhere */
  readonly places: readonly string[] | undefined;
}

/** @returns texts that are shown and written at the place of use, each with its line */
function writtenTexts(source: Source): Text[] {
  const found: Text[] = [];
  const add = (node: unknown): void => {
    for (const { text, line } of strings(node))
      if (LETTER.test(text)) found.push({ line, text: text.trim() });
  };
  walk(source, (node) => {
    switch (node.type) {
      case 'JSXText':
        add(node);
        break;
      case 'JSXAttribute':
        if (SHOWN.has(nameOf(node['name']))) add(node['value']);
        break;
      case 'JSXElement':
      case 'JSXFragment':
        for (const child of nodes(node['children'])) if (child.type === 'JSXExpressionContainer') add(child);
        break;
      case 'CallExpression':
        if (SAYING.has(nameOf(node['callee']))) nodes(node['arguments']).forEach(add);
        break;
    }
  });
  return found;
}

/**
 * @param speakers names of the functions that say a message: its key is their first argument, its values the ones after
 */
function saidMessages(source: Source, speakers: readonly string[]): Said[] {
  const calls: Said[] = [];
  walk(source, (node) => {
    if (node.type !== 'CallExpression' || !speakers.includes(nameOf(node['callee']))) return;
    const [key, ...values] = nodes(node['arguments']);
    const places = values.map(propertyNames);
    const isKnown = places.every((names) => names !== undefined);
    for (const { text, line } of strings(key))
      calls.push({ key: text, line, places: isKnown ? places.flatMap((names) => names ?? []) : undefined });
  });
  return calls;
}

/**
 * @returns the property names of an object literal; `undefined` for any other node or one that spreads another object
 */
function propertyNames(node: Node): string[] | undefined {
  if (node.type !== 'ObjectExpression') return undefined;
  const properties = nodes(node['properties']);
  if (properties.some(({ type, computed }) => type !== 'Property' || computed === true)) return undefined;
  return properties.map(({ key }) => nameOf(key));
}

/** The string literals that an expression may have as its value, or a part of it. */
function strings(node: unknown): Text[] {
  if (!isNode(node)) return [];
  const line = node.loc?.start.line ?? 0;
  switch (node.type) {
    case 'JSXText':
    case 'Literal':
      return typeof node['value'] === 'string' ? [{ text: node['value'], line }] : [];
    case 'TemplateLiteral':
      return [...nodes(node['quasis']), ...nodes(node['expressions'])].flatMap(strings);
    case 'TemplateElement':
      return [{ text: (node['value'] as { readonly cooked: string }).cooked, line }];
    case 'ConditionalExpression':
      return [node['consequent'], node['alternate']].flatMap(strings);
    case 'LogicalExpression':
      return [...(node['operator'] === '&&' ? [] : strings(node['left'])), ...strings(node['right'])];
    case 'BinaryExpression':
      return node['operator'] === '+' ? [node['left'], node['right']].flatMap(strings) : [];
    case 'JSXExpressionContainer':
    case 'TSAsExpression':
      return strings(node['expression']);
    default:
      return [];
  }
}

/** @returns texts that a style sheet shows, or has said by screen readers */
function styledTexts(sheet: string): string[] {
  return [...sheet.matchAll(/^\s*content:(.*);/gm)]
    .map(([, value = '']) => value.trim())
    .filter((value) => /'[^']*\p{L}/u.test(value));
}

function walk({ path, text }: Source, visit: (node: Node) => void): void {
  const step = (part: unknown): void => {
    if (Array.isArray(part)) part.forEach(step);
    if (!isNode(part)) return;
    visit(part);
    for (const [name, each] of Object.entries(part)) if (name !== 'loc' && name !== 'range') step(each);
  };
  // The TypeScript compiler, since version 7, gives no syntax tree without a process of its own.
  const { body } = parsers.typescript.parse(text, { filepath: path } as never) as Node;
  step(body);
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part;
}

function nodes(part: unknown): Node[] {
  return Array.isArray(part) ? part.filter(isNode) : [];
}

/** Of an identifier, an attribute or a key. */
function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  return String(node['name'] ?? node['value']);
}

/** @returns the names of the places and tags of a message of the catalogue, sorted */
function placesOf(message: string): string[] {
  const names = new Set<string>();
  const collect = (parts: readonly MessageFormatElement[]): void => {
    for (const part of parts) {
      if (!isLiteralElement(part) && !isPoundElement(part)) names.add(part.value);
      if ('options' in part) for (const option of Object.values(part.options)) collect(option.value);
      if ('children' in part) collect(part.children);
    }
  };
  collect(parse(message));
  return [...names].toSorted();
}

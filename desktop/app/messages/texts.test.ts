/** Whether everything that people read in the window is in the catalogue, and gets what its message has places for. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { placesOf, saidMessages, type Source, styledTexts, writtenTexts } from '../../testing/texts.ts';
import { EN } from './en.ts';

const ROOT = new URL('../../../', import.meta.url);
/** Names that are the same in every language. */
const SAME_EVERYWHERE = new Set(['Culvert', 'localhost:', 'https://']);
const MESSAGES: Readonly<Record<string, string>> = EN;

function sources(pattern: string): Source[] {
  return globSync(pattern, { cwd: ROOT })
    .filter((path) => !path.includes('.test.'))
    .map((path) => ({ path, text: readFileSync(new URL(path, ROOT), 'utf8') }));
}

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

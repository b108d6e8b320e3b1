import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import {
  absentPages,
  anchorsOf,
  citedDecisions,
  citedPages,
  citedSections,
  isNamed,
  linkedFiles,
  mappedPaths,
  namedFiles,
  otherForms,
  ownSections,
  sectionsOf,
  unwrapped,
} from './citations.ts';

const ROOT = new URL('../../', import.meta.url);
/** What others wrote, and what was built. */
const EXCLUDED = ['**/node_modules', '.git', 'dist', 'dist-desktop', '.culvert'];
const FILES = globSync('**/*.*', { cwd: ROOT, exclude: EXCLUDED }).map((path) => path.replaceAll('\\', '/'));
/** Texts by their paths, with wrapped lines joined; without this file, which cites what does not exist. */
const TEXTS = new Map(
  FILES.filter((path) => /\.(?:tsx?|md|sh|css|html|ya?ml|conf|cfg|service)$/.test(path))
    .filter((path) => path !== 'e2e/structure/citations.test.ts')
    .map((path) => [path, unwrapped(read(path))]),
);
const PAGES = new Map(FILES.filter((path) => path.endsWith('.md')).map((path) => [path, read(path)]));
/** Names the files of older versions. */
const HISTORY = 'CHANGELOG.md';

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** What `find` finds in a text and `holds` is not true of, with the path of the text. */
function broken<T>(
  texts: ReadonlyMap<string, string>,
  find: (text: string, path: string) => readonly T[],
  holds: (cited: T) => boolean,
): { readonly path: string; readonly cited: T }[] {
  return [...texts].flatMap(([path, text]) =>
    find(text, path)
      .filter((cited) => !holds(cited))
      .map((cited) => ({ path, cited })),
  );
}

function exists(path: string): boolean {
  return existsSync(new URL(path, ROOT));
}

describe('what sources and pages cite', function () {
  const protocol = PAGES.get('docs/protocol.md') ?? '';
  const sections = sectionsOf(protocol);

  it('is a page of the repository', () => {
    assert.deepEqual(
      broken(TEXTS, absentPages, () => false),
      [],
    );
  });

  it('are sections that docs/protocol.md has, in one form', () => {
    const count = [...TEXTS.values()].flatMap(citedSections).length;
    assert.ok(count > 100, `${count} citations`);
    assert.deepEqual(
      broken(TEXTS, citedSections, (number) => sections.has(number)),
      [],
    );
    assert.deepEqual(
      broken(TEXTS, otherForms, () => false),
      [],
    );
    assert.deepEqual(
      ownSections(protocol).filter((number) => !sections.has(number)),
      [],
    );
  });

  it('are pages that exist', () => {
    assert.deepEqual(broken(TEXTS, citedPages, exists), []);
  });

  it('are decisions that were made', () => {
    const made = FILES.flatMap((path) => /^docs\/decisions\/(\d{4})-/.exec(path)?.[1] ?? []);
    assert.deepEqual(
      broken(TEXTS, citedDecisions, (number) => made.includes(number)),
      [],
    );
  });

  it('are files and headings that exist, when pages link to them', () => {
    const leads = ({ file, anchor }: { readonly file: string; readonly anchor: string }): boolean =>
      exists(file) && (anchor === '' || anchorsOf(PAGES.get(file) ?? '').has(anchor));
    assert.deepEqual(broken(PAGES, linkedFiles, leads), []);
  });

  it('are files that exist, when pages name them', () => {
    const current = new Map([...PAGES].filter(([path]) => path !== HISTORY));
    assert.deepEqual(
      broken(current, namedFiles, (path) => isNamed(path, FILES)),
      [],
    );
  });

  it('are files and folders that exist, on the map in docs/architecture.md', () => {
    const [, map = ''] = /^```\n([\s\S]*?)^```$/m.exec(PAGES.get('docs/architecture.md') ?? '') ?? [];
    const paths = mappedPaths(map);
    assert.ok(paths.length > 60, `${paths.length} paths`);
    assert.deepEqual(
      paths.filter((path) => !exists(path)),
      [],
    );
  });
});

describe('citations', () => {
  it('are found where a comment wraps them', () => {
    const comment =
      '/**\n * As docs/protocol.md\n * sections 4.2, 5 and 6.3 say (docs/protocol.md section\n * 7).\n */';
    assert.deepEqual(citedSections(unwrapped(comment)), ['4.2', '5', '6.3', '7']);
  });

  it('of other forms are found', () => {
    const texts = ['protocol.md section 4', 'docs/protocol.md, section 4', 'docs/protocol.md, "Close codes"'];
    assert.deepEqual(
      texts.map((text) => otherForms(text).length),
      [1, 1, 1],
    );
    assert.deepEqual(otherForms('(docs/protocol.md section 4)'), []);
  });

  it('of a page to itself are distinguished from those of an RFC', () => {
    assert.deepEqual(ownSections('as section 3.4 says; RFC 9112 section 6.3; sections 5 and 6'), [
      '3.4',
      '5',
    ]);
  });

  it('of decisions are found by name and by path', () => {
    const text = 'decision 0006, decisions/0011, docs/decisions/0012-fair-api.md';
    assert.deepEqual(citedDecisions(text), ['0006', '0011']);
  });

  it('of files lead from where the page is', () => {
    const page = '[a](../x.md#y) [b](https://example.com/z) [c](#here)';
    assert.deepEqual(linkedFiles(page, 'docs/page.md'), [
      { file: 'x.md', anchor: 'y' },
      { file: 'docs/page.md', anchor: 'here' },
    ]);
    assert.deepEqual([...anchorsOf('## The relay, `culvert-relay`\n')], ['the-relay-culvert-relay']);
  });

  it('of files in backticks may name several, and may leave out the folders above', () => {
    assert.deepEqual(namedFiles('`a/{b,c}/d.ts`, `e.ts`, `f/*.test.ts`'), [
      'a/b/d.ts',
      'a/c/d.ts',
      'f/*.test.ts',
    ]);
    assert.ok(isNamed('b/d.ts', ['a/b/d.ts']) && isNamed('b/*.ts', ['a/b/d.ts']));
    assert.ok(!isNamed('b/d.ts', ['a/bb/d.ts']) && !isNamed('b/*.ts', ['a/b/d.md']));
  });

  it('on a map are read with the folders they are in', () => {
    const map =
      'shared/      what both say\n  a.ts       one; and\n             more of it\n  b/, c/     two\n    d.ts\ne/';
    assert.deepEqual(mappedPaths(map), [
      'shared/',
      'shared/a.ts',
      'shared/b/',
      'shared/c/',
      'shared/c/d.ts',
      'e/',
    ]);
  });
});

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = new Map(
  globSync('{.github/,}**/*.md', {
    cwd: ROOT,
    exclude: ['**/node_modules', 'dist', 'dist-desktop', '.culvert'],
  })
    .map((path) => path.replaceAll('\\', '/'))
    .map((path) => [path, withoutCode(readFileSync(join(ROOT, path), 'utf8'))]),
);

interface Link {
  /** path from the root of the repository */
  readonly file: string;
  /** without `#`; empty if the link has none */
  readonly anchor: string;
}

/** A page without its code blocks, in which nothing is a link or a heading. */
function withoutCode(page: string): string {
  return page.replaceAll(/^( *)(`{3,}|~{3,})[\s\S]*?^\1\2$/gm, '');
}

/** The relative links of a page, including pictures: `[text](path#anchor)`, `[name]: path`, `src="path"`. */
function linksOf(page: string, path: string): Link[] {
  const text = page.replaceAll(/`[^`\n]*`/g, '');
  const found = text.matchAll(
    /\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)|^\[[^\]]+\]: (\S+)|\b(?:href|src|srcset)="([^"\s]+)"/gm,
  );
  return [...found]
    .map(([, inline, reference, attribute]) => inline ?? reference ?? attribute ?? '')
    .filter((target) => !/^[a-z]+:/i.test(target))
    .map((target) => {
      const [file = '', anchor = ''] = decodeURI(target).split('#', 2);
      return { file: file === '' ? path : posix.join(posix.dirname(path), file), anchor };
    });
}

/** Anchors of a page's headings, as forges generate them. Equal headings are numbered. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set([...page.matchAll(/\bid="([^"]+)"/g)].map(([, id = '']) => id));
  for (const [, heading = ''] of page.matchAll(/^#{1,6} (.+?)(?: #+)?$/gm)) {
    const base = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

function leads({ file, anchor }: Link): boolean {
  // Paths above the root belong to the forge, such as its list of issues.
  if (file.startsWith('../')) return true;
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === '' || anchorsOf(PAGES.get(file) ?? '').has(anchor);
}

describe('links in Markdown', () => {
  it('point to files and headings that exist', () => {
    assert.ok(PAGES.size > 30, `${PAGES.size} pages`);
    const broken = [...PAGES].flatMap(([path, page]) =>
      linksOf(page, path)
        .filter((link) => !leads(link))
        .map(({ file, anchor }) => `${path}: ${file}#${anchor}`),
    );
    assert.deepEqual(broken, []);
  });

  it('are found in every form, relative to their page, and not in code', () => {
    const page =
      '[a](../x.md#y) ![b](images/b.png "B") [c](https://example.com/z) [d](#here) `[e](e.md)` [`f`](f.md)\n\n' +
      '[g]: g.md\n<img src="h.svg">\n\n```md\n[i](i.md)\n```\n';
    assert.deepEqual(
      linksOf(withoutCode(page), 'docs/page.md').map(({ file, anchor }) => `${file}#${anchor}`),
      ['x.md#y', 'docs/images/b.png#', 'docs/page.md#here', 'docs/f.md#', 'docs/g.md#', 'docs/h.svg#'],
    );
  });

  it('match headings by their words', () => {
    const page =
      '## The relay, `culvert-relay`\n\n## Same\n\n## Same\n\n### A [link](x.md)\n\n<a id="here"></a>\n';
    assert.deepEqual([...anchorsOf(page)], ['here', 'the-relay-culvert-relay', 'same', 'same-1', 'a-link']);
  });
});

describe('programs', () => {
  it('do not point to pages, because the package contains none', () => {
    const sources = globSync('@(server|desktop|shared)/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] });
    assert.ok(sources.length > 300);
    const pointing = sources.flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        // Comments are for developers, who have the pages; an address of the project's site works anywhere.
        .filter((line) => /^[^*]*['"`].*docs\/[\w/-]+\.md/.test(line) && !/^\s*\/|\/blob\//.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
    assert.deepEqual(pointing, []);
  });
});

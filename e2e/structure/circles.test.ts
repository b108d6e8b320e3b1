import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { findCircle, foldersOf, type Graph, importGraph, viewFrom } from './import-graph.ts';

const ROOT = new URL('../../', import.meta.url);
const ROOTS = ['shared', 'server', 'desktop', 'release', 'e2e'];

function sourcesOf(root: string): string[] {
  return (
    globSync(`${root}/**/*.{ts,tsx}`, { cwd: ROOT })
      .map((path) => path.replaceAll('\\', '/'))
      // The frameworks of e2e/compat are installed there.
      .filter((path) => !path.endsWith('.test.ts') && !path.includes('/node_modules/'))
  );
}

function graphOf(edges: Readonly<Record<string, readonly string[]>>): Graph {
  return new Map(Object.entries(edges).map(([file, targets]) => [file, new Set(targets)]));
}

describe('imports', () => {
  for (const root of ROOTS) {
    const graph = importGraph(sourcesOf(root), ROOT);

    it(`of ${root} are read`, () => {
      const count = [...graph.values()].reduce((sum, targets) => sum + targets.size, 0);
      assert.ok(count > graph.size / 2, `${count} imports among ${graph.size} files`);
    });

    it(`of ${root} form no circle of files`, () => {
      assert.equal(findCircle(graph)?.join(' → '), undefined);
    });

    it(`of ${root} form no circle of folders`, () => {
      const circles = foldersOf(graph).map((folder) => findCircle(viewFrom(folder, graph))?.join(' → '));
      assert.deepEqual(
        circles.filter((circle) => circle !== undefined),
        [],
      );
    });
  }
});

describe('circles of imports', () => {
  it('are found between files', () => {
    const graph = graphOf({ 'a/x.ts': ['a/y.ts'], 'a/y.ts': ['a/z.ts'], 'a/z.ts': ['a/y.ts'] });
    assert.deepEqual(findCircle(graph), ['a/y.ts', 'a/z.ts']);
  });

  it('are found between folders whose files form none', () => {
    const graph = graphOf({
      'a/b/x.ts': ['a/c/x.ts'],
      'a/b/y.ts': [],
      'a/c/x.ts': [],
      'a/c/y.ts': ['a/b/y.ts'],
    });
    assert.equal(findCircle(graph), undefined);
    assert.deepEqual(foldersOf(graph), ['a', 'a/b', 'a/c']);
    assert.deepEqual(findCircle(viewFrom('a', graph)), ['a/b', 'a/c']);
  });

  it('are found between a folder and a file beside it', () => {
    const graph = graphOf({ 'a/x.ts': ['a/b/c/x.ts'], 'a/b/c/x.ts': [], 'a/b/y.ts': ['a/x.ts'] });
    assert.deepEqual(findCircle(viewFrom('a', graph)), ['a/x.ts', 'a/b']);
  });

  it('do not exist if all imports point one way', () => {
    const graph = graphOf({ 'a/x.ts': ['a/b/x.ts', 'a/c/x.ts'], 'a/b/x.ts': ['a/c/x.ts'], 'a/c/x.ts': [] });
    assert.equal(findCircle(viewFrom('a', graph)), undefined);
  });
});

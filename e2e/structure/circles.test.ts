import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';

const ROOT = new URL('../../', import.meta.url);
const IMPORT = /^(?:import|export) (?:[^'";]*? from )?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

/** The targets of each node. */
type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Imports between the sources of a folder, including those of types. */
function importsOf(root: string): Graph {
  const files = globSync(`${root}/**/*.{ts,tsx}`, { cwd: ROOT })
    .map((path) => path.replaceAll('\\', '/'))
    // The frameworks of e2e/compat are installed there.
    .filter((path) => !path.endsWith('.test.ts') && !path.includes('/node_modules/'));
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const text = readFileSync(new URL(file, ROOT), 'utf8');
      const targets = [...text.matchAll(IMPORT)].map(([, static_ = '', dynamic = static_]) =>
        join(dirname(file), dynamic),
      );
      return [file, new Set(targets.filter((target) => known.has(target)))];
    }),
  );
}

/**
 * The same graph as seen from one folder: its files, and each of its folders merged into one node. A folder may use its
 * siblings or be used by them, but not both.
 *
 * @param folder its path; everything outside is ignored
 */
function viewFrom(folder: string, graph: Graph): Graph {
  const view = new Map<string, Set<string>>();
  for (const [file, targets] of graph) {
    const from = entryOf(folder, file);
    if (from === undefined) continue;
    const reached = view.get(from) ?? new Set();
    view.set(from, reached);
    for (const target of targets) {
      const to = entryOf(folder, target);
      if (to !== undefined && to !== from) reached.add(to);
    }
  }
  return view;
}

/** Every folder that contains files of a graph, at any depth. */
function foldersOf(graph: Graph): string[] {
  const folders = new Set<string>();
  for (const file of graph.keys()) {
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].toSorted();
}

/** @returns the nodes of one circle, in order; `undefined` if there is none */
function findCircle(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): string[] | undefined => {
    const at = path.indexOf(node);
    if (at >= 0) return path.slice(at);
    if (done.has(node)) return undefined;
    path.push(node);
    for (const target of graph.get(node) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    path.pop();
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const circle = visit(node);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

/** The file itself if it is in the folder, otherwise the folder in it that contains the file. */
function entryOf(folder: string, file: string): string | undefined {
  if (!file.startsWith(`${folder}/`)) return undefined;
  const [name = ''] = file.slice(folder.length + 1).split('/');
  return `${folder}/${name}`;
}

describe('imports', () => {
  for (const root of ['shared', 'server', 'desktop', 'release', 'e2e']) {
    // The linter finds circles between files.
    it(`of ${root} form no circle of folders`, () => {
      const graph = importsOf(root);
      const count = [...graph.values()].reduce((sum, targets) => sum + targets.size, 0);
      assert.ok(count > graph.size / 2, `${count} imports among ${graph.size} files`);
      const circles = foldersOf(graph).map((folder) => findCircle(viewFrom(folder, graph))?.join(' → '));
      assert.deepEqual(
        circles.filter((circle) => circle !== undefined),
        [],
      );
    });
  }

  it('of two folders form a circle even if those of their files form none', () => {
    const edges = { 'a/b/x.ts': ['a/c/x.ts'], 'a/b/y.ts': [], 'a/c/x.ts': [], 'a/c/y.ts': ['a/b/y.ts'] };
    const graph = new Map(Object.entries(edges).map(([file, targets]) => [file, new Set(targets)]));
    assert.equal(findCircle(graph), undefined);
    assert.deepEqual(findCircle(viewFrom('a', graph)), ['a/b', 'a/c']);
  });
});

/** The import graph of the sources. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';

/** The targets of each node. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

const IMPORT = /^(?:import|export) (?:[^'";]*? from )?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

/**
 * Imports between source files, including those of types.
 *
 * @param files paths from the root of the repository, with slashes; imports of other files are left out
 * @param root of the repository
 */
export function importGraph(files: readonly string[], root: URL): Graph {
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const text = readFileSync(new URL(file, root), 'utf8');
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
export function viewFrom(folder: string, graph: Graph): Graph {
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
export function foldersOf(graph: Graph): string[] {
  const folders = new Set<string>();
  for (const file of graph.keys()) {
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].toSorted();
}

/** @returns the nodes of one circle, in order; `undefined` if there is none */
export function findCircle(graph: Graph): string[] | undefined {
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

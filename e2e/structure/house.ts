/**
 * `npm run house [-- FOLDER]`: measures how much there is to find one's way in, here or in another copy of the
 * repository.
 *
 * Sources are TypeScript and CSS without tests. Importers are counted among sources. A circle between folders is
 * counted within the folder that contains them. Members of classes and interfaces are read from the syntax tree: an
 * accessor counts once, private members do not count. An interface counts as implemented by each class or object
 * literal of production code that has all of its required members, by name; if some of these are in files that name the
 * interface, only those count.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parsers } from 'prettier/plugins/typescript';
import { findCircle, foldersOf, type Graph, importGraph, viewFrom } from './import-graph.ts';

const ROOTS = ['shared', 'server', 'desktop', 'release', 'e2e'];
/** The commit before the measures were introduced. */
const FIRST_COMMIT = 'b8c5e16';
const SUBJECT_MAX = 72;
const METHODS_MAX = 25;
const EXCLUDED = ['**/node_modules', 'dist', 'dist-desktop', '.culvert'];

const root = resolve(process.argv[2] ?? fileURLToPath(new URL('../../', import.meta.url)));

interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
}

/** A node of the syntax tree, as ESTree has them. */
interface Node {
  readonly type: string;
  readonly [part: string]: unknown;
}

/** An interface, a class or an object literal. */
interface Shape {
  readonly path: string;
  readonly name: string;
  readonly members: ReadonlySet<string>;
  /** callable members of a class, including accessors */
  readonly methods: ReadonlySet<string>;
}

const sources = read(`{${ROOTS.join(',')}}/**/*.{ts,tsx,css}`).filter(({ path }) => !path.includes('.test.'));
const pages = read('docs/**/*.md');
const modules = sources.map(({ path }) => path).filter((path) => !path.endsWith('.css'));
const graph = importGraph(modules, pathToFileURL(`${root}/`));
const shapes = shapesOf(sources.filter(({ path }) => /^(?:shared|server|desktop)\/.*\.tsx?$/.test(path)));

/** The words of each file. */
const words = new Map(sources.map(({ path, text }) => [path, new Set(text.match(/\w+/g))]));

const importers = new Map<string, number>();
for (const targets of graph.values())
  for (const target of targets) importers.set(target, (importers.get(target) ?? 0) + 1);

const rows: readonly (readonly [measure: string, value: string | number])[] = [
  ['files', sources.length],
  ['median lines of a file', median(sources.map(({ lines }) => lines))],
  ['files with exactly one importer', [...importers.values()].filter((count) => count === 1).length],
  ['lines', linesOf(sources)],
  ...ROOTS.map((folder) => {
    const inside = sources.filter(({ path }) => path.startsWith(`${folder}/`));
    return [`lines of ${folder}`, `${linesOf(inside)} in ${inside.length} files`] as const;
  }),
  ['circles between files', findCircle(graph)?.join(' → ') ?? 0],
  ['folders with circles between the folders in them', foldersWithCircles(graph).join(', ') || 0],
  [`classes with more than ${METHODS_MAX} public methods`, large(shapes.classes)],
  ['interfaces with methods', shapes.interfaces.length],
  ['interfaces with methods and one implementation', shapes.interfaces.filter(hasOneImplementation).length],
  ['words of docs', wordsOf(pages)],
  ...['docs/reference/limits.md', 'docs/contributing/testing.md'].map(
    (path) => [`words of ${path}`, wordsOf(pages.filter((page) => page.path === path))] as const,
  ),
  [`commit subjects over ${SUBJECT_MAX} characters since ${FIRST_COMMIT}`, longSubjects()],
];
const width = Math.max(...rows.map(([measure]) => measure.length));
for (const [measure, value] of rows) console.log(`${measure.padEnd(width)}  ${value}`);

function read(pattern: string): Source[] {
  return globSync(pattern, { cwd: root, exclude: EXCLUDED }).map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return { path: path.replaceAll('\\', '/'), text, lines: text.split('\n').length - 1 };
  });
}

function linesOf(files: readonly Source[]): number {
  return files.reduce((sum, { lines }) => sum + lines, 0);
}

function wordsOf(files: readonly Source[]): number {
  return files.reduce((sum, { text }) => sum + (text.match(/\S+/g)?.length ?? 0), 0);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

function foldersWithCircles(imports: Graph): string[] {
  return foldersOf(imports).filter((folder) => findCircle(viewFrom(folder, imports)) !== undefined);
}

function longSubjects(): string {
  try {
    const log = ['log', '--no-merges', '--format=%s', `${FIRST_COMMIT}..HEAD`];
    const subjects = execFileSync('git', log, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).split('\n');
    const all = subjects.filter((subject) => subject !== '');
    return `${all.filter(({ length }) => length > SUBJECT_MAX).length} of ${all.length}`;
  } catch {
    return 'unknown: this copy has no history';
  }
}

function large(classes: readonly Shape[]): string | number {
  const found = classes.filter(({ methods }) => methods.size > METHODS_MAX);
  const names = found.map(({ name, methods }) => `${name} ${methods.size}`);
  return found.length === 0 ? 0 : `${found.length} (${names.join(', ')})`;
}

function hasOneImplementation({ name, members }: Shape): boolean {
  const alike = [...shapes.classes, ...shapes.objects].filter((other) =>
    [...members].every((member) => other.members.has(member)),
  );
  const naming = alike.filter(({ path }) => words.get(path)?.has(name));
  return (naming.length > 0 ? naming : alike).length === 1;
}

function shapesOf(files: readonly Source[]) {
  const found: Record<'classes' | 'interfaces' | 'objects', Shape[]> = {
    classes: [],
    interfaces: [],
    objects: [],
  };
  for (const { path, text } of files.filter(({ path: each }) => !each.includes('/testing/'))) {
    walk(parsers.typescript.parse(text, { filepath: path } as never), (node) => {
      if (node.type === 'ClassDeclaration' || node.type === 'ClassExpression') {
        const members = nodes(bodyOf(node)).filter(isPublic);
        const methods = named(members.filter((member) => isMethod(member) || isFunction(member['value'])));
        found.classes.push({ path, name: nameOf(node['id']), members: named(members), methods });
      }
      if (node.type === 'ObjectExpression')
        found.objects.push({ path, name: '', members: named(nodes(node['properties'])), methods: new Set() });
      if (node.type !== 'TSInterfaceDeclaration') return;
      const members = nodes(bodyOf(node)).filter((member) => member['optional'] !== true);
      if (members.some(({ type }) => type === 'TSMethodSignature'))
        found.interfaces.push({
          path,
          name: nameOf(node['id']),
          members: named(members),
          methods: new Set(),
        });
    });
  }
  return found;
}

function bodyOf(node: Node): unknown {
  const body = node['body'];
  return isNode(body) ? body['body'] : undefined;
}

function isMethod({ type, kind }: Node): boolean {
  return type === 'MethodDefinition' && kind !== 'constructor';
}

function isFunction(value: unknown): boolean {
  return isNode(value) && value.type.endsWith('FunctionExpression');
}

function isPublic({ key, accessibility }: Node): boolean {
  return (
    !(isNode(key) && key.type.startsWith('Private')) &&
    accessibility !== 'private' &&
    accessibility !== 'protected'
  );
}

function named(members: readonly Node[]): Set<string> {
  return new Set(members.map(({ key }) => nameOf(key)).filter((name) => name !== ''));
}

function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  const name = node['name'] ?? node['value'];
  return typeof name === 'string' ? name : '';
}

function walk(part: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(part)) for (const each of part) walk(each, visit);
  if (!isNode(part)) return;
  visit(part);
  for (const [name, each] of Object.entries(part)) if (name !== 'loc' && name !== 'range') walk(each, visit);
}

function nodes(part: unknown): Node[] {
  return Array.isArray(part) ? part.filter(isNode) : [];
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';
}

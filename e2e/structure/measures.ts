/** `npx node e2e/structure/measures.ts`: prints the lines of each layer of tests, and how many faults and skips there are. */
import { globSync, readFileSync } from 'node:fs';

const ROOM = '@(server|shared|desktop|release)';
const LAYERS: Readonly<Record<string, string[]>> = {
  unit: [`${ROOM}/**/*.test.ts`],
  testing: [`${ROOM}/**/testing/**/*.ts`],
  protocol: ['e2e/protocol/**/*.ts'],
  ui: ['e2e/ui/**/*.ts'],
  'hostile, load': ['e2e/@(hostile|load)/**/*.ts'],
  cluster: ['e2e/cluster/**/*.ts'],
  'deploy, package': ['e2e/@(deploy|package)/**/*.ts'],
  support: ['e2e/support/**/*.ts'],
  'bench, compat, structure, mutation, demo': ['e2e/@(bench|compat|structure|mutation|demo)/**/*.ts'],
};

const linesOf = (text: string): number => text.split('\n').length - 1;
const read = (patterns: string[]): string[] =>
  globSync(patterns, { exclude: ['**/node_modules'] }).map((path) => readFileSync(path, 'utf8'));

for (const [layer, patterns] of Object.entries(LAYERS)) {
  const lines = read(patterns).reduce((sum, text) => sum + linesOf(text), 0);
  process.stdout.write(`${String(lines).padStart(7)}  lines of ${layer}\n`);
}
const faults = readFileSync('e2e/mutation/faults.yml', 'utf8').match(/^ *(?:- )?find:/gm)?.length ?? 0;
process.stdout.write(`${String(faults).padStart(7)}  faults\n`);
const skips = read([`@(server|shared|desktop|release|e2e)/**/*.ts`]).flatMap(
  (text) => text.match(/\bthis\.skip\(|\b(?:it|describe)\.skip\b/g) ?? [],
);
process.stdout.write(`${String(skips.length).padStart(7)}  places that skip\n`);

/**
 * `npm run mutate`: breaks a copy of the program, one deliberate break at a time, and has the tests find each. Writes
 * results.md. With `--part NAME`, once or more, it tries those parts only, and writes their sections. With words it tries
 * only the breaks whose part, file and notice have them all, and writes nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { Scope } from '../support/scope.ts';
import { treeState } from '../support/tree-state.ts';
import { MUTATIONS } from './list.ts';
import { LAYERS, type Mutation, PARTS } from './mutation.ts';
import { type Outcome, report } from './results.ts';
import { runTests } from './test-run.ts';
import { Workspace } from './workspace.ts';

/** A test that does not find what it looks for mostly waits. */
const AT_A_TIME = 2;
const RESULTS = fileURLToPath(new URL('results.md', import.meta.url));

const { values, positionals } = parseArgs({
  options: { part: { type: 'string', multiple: true } },
  allowPositionals: true,
});
const parts: readonly string[] = values.part ?? PARTS;
const unknown = parts.filter((name) => !PARTS.some((part) => part === name));
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')}; there are ${PARTS.join(', ')}`);
const words = positionals.map((word) => word.toLowerCase());
const chosen = MUTATIONS.filter(({ part, file, notice }) => {
  const text = `${part} ${file} ${notice}`.toLowerCase();
  return parts.includes(part) && words.every((word) => text.includes(word));
});
const state = treeState(new Date());
const scope = new Scope();
try {
  say(`${chosen.length} breaks; copying and building the tree`);
  const workspaces: Workspace[] = [];
  while (workspaces.length < AT_A_TIME) workspaces.push(await Workspace.create(scope));
  const [first] = workspaces;
  if (first !== undefined) await proveUnbroken(first, chosen);
  const outcomes = await tryAll(workspaces, chosen);
  const survivors = outcomes.filter(({ caughtBy }) => caughtBy.length === 0);
  if (words.length === 0) {
    const options = await resolveConfig(RESULTS);
    const text = report(readFileSync(RESULTS, 'utf8'), outcomes, state);
    writeFileSync(RESULTS, await format(text, { ...options, parser: 'markdown' }));
  }
  say(`${outcomes.length - survivors.length} of ${outcomes.length} breaks were caught`);
  if (survivors.length > 0) process.exitCode = 1;
} finally {
  await scope.end();
}

/** A test that fails anyway proves nothing. @throws Error where one does, or is not there */
async function proveUnbroken(workspace: Workspace, mutations: readonly Mutation[]): Promise<void> {
  for (const layer of LAYERS) {
    const titles = new Set(
      mutations.filter(({ tests }) => tests.layer === layer).flatMap(({ tests }) => tests.titles),
    );
    if (titles.size === 0) continue;
    say(`${layer.name}: ${titles.size} tests without a break`);
    const { passed, failed } = await runTests(workspace.folder, layer, [...titles]);
    const missing = [...titles].filter((title) => !passed.includes(title));
    if (missing.length === 0 && failed.length === 0) continue;
    const said = failed.map(({ title, why }) => `${title}: ${why}`);
    throw new Error(`without a break, these tests did not pass: ${[...missing, ...said].join('; ')}`);
  }
}

/** @returns outcomes in the order of the breaks */
async function tryAll(
  workspaces: readonly Workspace[],
  mutations: readonly Mutation[],
): Promise<readonly Outcome[]> {
  const outcomes = new Map<Mutation, Outcome>();
  const waiting = mutations.values();
  const work = async (workspace: Workspace): Promise<void> => {
    for (const mutation of waiting) {
      const outcome = await tryOut(workspace, mutation);
      outcomes.set(mutation, outcome);
      const by = outcome.caughtBy.map(({ title, why }) => `\n    ${title}: ${why}`).join('');
      const verdict = by === '' ? 'SURVIVED' : 'caught';
      say(`${outcomes.size}/${mutations.length} ${verdict}: ${mutation.notice}${by}`);
    }
  };
  await Promise.all(workspaces.map(work));
  return mutations.flatMap((mutation) => outcomes.get(mutation) ?? []);
}

async function tryOut(workspace: Workspace, mutation: Mutation): Promise<Outcome> {
  const { layer, titles } = mutation.tests;
  const restore = workspace.apply(mutation);
  try {
    if (layer.runsBuild) await workspace.build();
    const { failed } = await runTests(workspace.folder, layer, titles);
    // A hook that fails is not a test that has noticed something.
    return { mutation, caughtBy: failed.filter(({ title }) => titles.includes(title)) };
  } finally {
    restore();
    if (layer.runsBuild) await workspace.build();
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

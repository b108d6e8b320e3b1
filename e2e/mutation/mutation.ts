/** Parts of the desktop program, the pages that visitors see of either, and parts of the relay. */
export const PARTS = [
  'renderer',
  'preload',
  'handlers',
  'main',
  'engine',
  'page',
  'edge',
  'link',
  'tunnels',
  'api',
  'certificates',
] as const;
export type Part = (typeof PARTS)[number];

/** A deliberate break of the program, and the tests that have to notice it. */
export interface Mutation {
  readonly part: Part;
  /** what a person would notice, in the words of a report */
  readonly notice: string;
  /** from the root of the project */
  readonly file: string;
  /** text that is there exactly once */
  readonly find: string;
  readonly replace: string;
  readonly tests: Tests;
}

/** Tests of one layer. At least one of them must fail, and all must pass where nothing is broken. */
export interface Tests {
  readonly layer: Layer;
  /** whole titles, those of the suites around them in front */
  readonly titles: readonly string[];
}

/** How `npm test` runs a layer. */
export interface Layer {
  readonly name: string;
  /** pattern of mocha */
  readonly files: string;
  /** ms for one test */
  readonly timeoutMs: number;
  /** Whether it runs what is mutated as it was compiled into `dist/`. */
  readonly runsBuild: boolean;
  /** file with root hooks that its suites need */
  readonly hooks: string | undefined;
}

const UI_HOOKS = './e2e/ui/support/shared.ts';
const UNIT: Layer = {
  name: 'unit',
  files: '@(shared|server|desktop)/**/*.test.ts',
  timeoutMs: 2000,
  runsBuild: false,
  hooks: undefined,
};
const UI: Layer = {
  name: 'ui',
  files: 'e2e/ui/*.test.ts',
  timeoutMs: 60_000,
  runsBuild: false,
  hooks: UI_HOOKS,
};
const VISITORS: Layer = {
  name: 'visitors',
  files: 'e2e/ui/visitors/*.test.ts',
  timeoutMs: 60_000,
  runsBuild: true,
  hooks: UI_HOOKS,
};

const PROTOCOL: Layer = {
  name: 'protocol',
  files: 'e2e/protocol/*.test.ts',
  timeoutMs: 30_000,
  runsBuild: true,
  hooks: undefined,
};

export const LAYERS: readonly Layer[] = [UNIT, UI, VISITORS, PROTOCOL];

export function unit(...titles: string[]): Tests {
  return { layer: UNIT, titles };
}

/** Scenarios of the window. */
export function ui(...titles: string[]): Tests {
  return { layer: UI, titles };
}

/** What a visitor sees in a browser. */
export function visitors(...titles: string[]): Tests {
  return { layer: VISITORS, titles };
}

/** What a visitor, a client or an operator meets of the built programs. */
export function protocol(...titles: string[]): Tests {
  return { layer: PROTOCOL, titles };
}

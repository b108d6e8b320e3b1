/** The suites of `npm test`, and those that are run by name only. */

export interface Suite {
  readonly name: string;
  /** a script that installs what the suite needs, with its arguments */
  readonly setup?: string;
  /** whether it runs the programs in `dist/` */
  readonly runsBuild: boolean;
  /** arguments for Node */
  readonly command: readonly string[];
  /** left out of `npm test` */
  readonly byHand?: boolean;
}

const MOCHA = 'node_modules/mocha/bin/mocha.js';
const SETUP = 'e2e/support/setup.sh';
/** Protocol suites that use nothing specific to Linux. */
const PORTABLE =
  'addresses|connections|create|data|endings|forwarding|main-job|messages|own-answers|path-form|rest|strictness|tunnels|websocket-refusals';

/** Longest first, so that none begins when the others are about to end. */
export const SUITES: readonly Suite[] = [
  {
    name: 'faults',
    setup: SETUP,
    runsBuild: true,
    command: mocha(2, ...longFirst('e2e/faults', 'kill|migration|network')),
  },
  {
    name: 'protocol',
    setup: SETUP,
    runsBuild: true,
    command: mocha(3, ...longFirst('e2e/protocol', '*time-limits')),
  },
  {
    name: 'torture',
    setup: SETUP,
    runsBuild: true,
    command: ['e2e/torture/torture.ts', '--short'],
  },
  {
    name: 'cluster',
    setup: SETUP,
    runsBuild: true,
    command: [
      ...mocha(3, '--require', './e2e/cluster/on-postgres.ts'),
      ...longFirst('e2e/cluster', 'interruptions|migration|postgres-outages|postgres-relay'),
      'server/store/*.test.ts',
      'server/tunnels/tunnel-service.test.ts',
      'server/accounts/bootstrap.test.ts',
    ],
  },
  {
    name: 'balanced:http',
    setup: SETUP,
    runsBuild: true,
    command: ['e2e/cluster/protocol.ts', 'http'],
  },
  {
    name: 'ui',
    setup: `${SETUP} chromium`,
    runsBuild: true,
    command: mocha(3, '--require', './e2e/ui/support/shared.ts', 'e2e/ui/**/*.test.ts'),
  },
  {
    name: 'deploy',
    setup: SETUP,
    runsBuild: true,
    command: mocha(2, 'e2e/deploy/*.test.ts'),
  },
  {
    name: 'compat',
    setup: 'e2e/compat/setup.sh',
    runsBuild: true,
    command: mocha(2, 'e2e/compat/*.test.ts'),
  },
  {
    name: 'package',
    runsBuild: false,
    command: mocha(1, 'e2e/package/*.test.ts'),
  },
  {
    name: 'unit',
    runsBuild: false,
    command: mocha(
      1,
      '@(shared|server|desktop|release)/**/*.test.ts',
      'e2e/@(bench|demo|mutation|structure|torture)/**/*.test.ts',
    ),
  },
  {
    name: 'balanced:stream',
    setup: SETUP,
    runsBuild: true,
    command: ['e2e/cluster/protocol.ts', 'stream'],
    byHand: true,
  },
  {
    name: 'main',
    runsBuild: true,
    command: mocha(1, `e2e/protocol/@(${PORTABLE}).test.ts`),
    byHand: true,
  },
];

/**
 * @param jobs files that run at the same time, each in a process of its own; more than there are cores if tests mostly wait
 */
function mocha(jobs: number, ...args: readonly string[]): string[] {
  const parallel = jobs > 1 ? ['--parallel', '--jobs', String(jobs)] : [];
  return [MOCHA, ...parallel, ...args];
}

/** The test files of a folder; those whose names match one of a glob's alternatives come first. */
function longFirst(folder: string, names: string): string[] {
  return [`${folder}/@(${names}).test.ts`, `${folder}/!(${names}).test.ts`];
}

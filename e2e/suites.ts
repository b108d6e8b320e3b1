/** The suites of `npm test`, those that `npm run test:all` adds, and those that run only when named. */

export interface Suite {
  readonly name: string;
  /** a script that installs what the suite needs, with its arguments */
  readonly setup?: string;
  /** whether it runs the programs in `dist/` */
  readonly runsBuild: boolean;
  /** arguments for Node */
  readonly command: readonly string[];
  /** which commands run it: `npm test` and `npm run test:all`, only the latter, or neither */
  readonly runs: 'always' | 'with all' | 'by name';
}

const MOCHA = 'node_modules/mocha/bin/mocha.js';
const SETUP = 'e2e/support/setup.sh';
/** Files that take a minute or more each: authorities, takeovers, relays killed at a hundred moments, bodies of 1 GiB. */
const LONG = {
  hostile: 'certificates|kill|replace|replace-certificates',
  protocol: 'certificates|certificates-dns|client-time-limits|large-bodies',
};
/** The window's screens in each theme, size and language, and the windows of `culvert ui` and other commands. */
const MORE_OF_WINDOW = 'sweep|browser|command-window|firefox';
/** Root hooks that set up what the window tests share. */
const WINDOW = ['--require', './e2e/ui/support/running-app.ts'];
/** Protocol suites that use nothing specific to Linux. */
const PORTABLE =
  'addresses|connections|create|data|endings|forwarding|main-job|messages|own-answers|path-form|rest|strictness|tunnels|websocket-refusals';
/** Protocol suites about what the processes of one relay have to know of each other. */
const SHARED =
  'access|address-limits|administration|agent-keys|connection-limit|control|counters|create-limits|data|domains|hold-over|invitations|isolation|keys-by-sign-in|knock|lifetime|links|names|oauth|oauth-relay|operators|plans|raw|rest|scoped-keys|shutdown|sign-in|take-over|teams|trunk-large|tunnels|wildcard-hosts';

/**
 * Longest first, so that none of them starts when the others are almost done; `unit` early, as it uses one core, and
 * `hostile`, as it mostly waits.
 */
export const SUITES: readonly Suite[] = [
  {
    name: 'hostile',
    runs: 'always',
    setup: SETUP,
    runsBuild: true,
    command: mocha(2, ...longFirst('e2e/hostile', 'network|smuggling', LONG.hostile)),
  },
  {
    name: 'protocol',
    runs: 'always',
    setup: SETUP,
    runsBuild: true,
    command: mocha(3, ...longFirst('e2e/protocol', 'http2|culvert-lifetime|shutdown', LONG.protocol)),
  },
  {
    name: 'unit',
    runs: 'always',
    runsBuild: false,
    command: mocha(
      1,
      '@(shared|server|desktop|release)/**/*.test.ts',
      'e2e/@(bench|demo|mutation|structure)/**/*.test.ts',
    ),
  },
  {
    name: 'ui',
    runs: 'always',
    setup: `${SETUP} chromium`,
    runsBuild: true,
    command: mocha(2, ...WINDOW, ...longFirst('e2e/ui', 'log*', MORE_OF_WINDOW), 'e2e/ui/support/*.test.ts'),
  },
  {
    name: 'hostile:attacks',
    runs: 'with all',
    setup: `${SETUP} openssl nginx haproxy caddy strace libfaketime`,
    runsBuild: true,
    // One at a time, because they measure memory. A failed one may have left something running.
    command: mocha(1, '--exit', 'e2e/hostile/attacks/*.test.ts'),
  },
  {
    name: 'long',
    runs: 'with all',
    setup: SETUP,
    runsBuild: true,
    command: mocha(2, `e2e/hostile/@(${LONG.hostile}).test.ts`, `e2e/protocol/@(${LONG.protocol}).test.ts`),
  },
  {
    name: 'ui:more',
    runs: 'with all',
    setup: `${SETUP} chromium firefox-esr`,
    runsBuild: true,
    command: mocha(2, ...WINDOW, `e2e/ui/@(${MORE_OF_WINDOW}).test.ts`, 'e2e/ui/visitors/*.test.ts'),
  },
  {
    name: 'cluster',
    runs: 'with all',
    setup: SETUP,
    runsBuild: true,
    command: [
      ...mocha(3, '--require', './e2e/cluster/on-postgres.ts'),
      ...longFirst('e2e/cluster', 'interruptions|postgres-outages|postgres-relay'),
      'server/store/*.test.ts',
      'server/tunnels/tunnel-service.test.ts',
      'server/accounts/accounts.test.ts',
    ],
  },
  {
    name: 'deploy',
    runs: 'with all',
    setup: SETUP,
    runsBuild: true,
    command: mocha(2, 'e2e/deploy/*.test.ts'),
  },
  {
    // Single-file programs and packages, which this makes.
    name: 'installed',
    runs: 'with all',
    setup: SETUP,
    runsBuild: true,
    command: mocha(1, 'e2e/installed/*.test.ts'),
  },
  {
    name: 'compat',
    runs: 'with all',
    setup: 'e2e/compat/setup.sh',
    runsBuild: true,
    command: mocha(2, 'e2e/compat/*.test.ts'),
  },
  {
    name: 'balanced:http',
    runs: 'with all',
    setup: SETUP,
    runsBuild: true,
    command: ['e2e/cluster/protocol.ts', 'http'],
  },
  {
    // Relays of three processes. All other files: CULVERT_WORKERS=3 npm test -- protocol
    name: 'workers',
    runs: 'by name',
    setup: SETUP,
    runsBuild: true,
    command: mocha(3, '--require', './e2e/cluster/three-processes.ts', `e2e/protocol/@(${SHARED}).test.ts`),
  },
  {
    name: 'package',
    runs: 'with all',
    setup: `${SETUP} dbus-daemon python3-dbus python3-gi`,
    runsBuild: false,
    command: mocha(1, 'e2e/package/*.test.ts'),
  },
  {
    // Programs and dev servers whose installation takes 1 GB, and minutes.
    name: 'compat:more',
    runs: 'by name',
    setup: 'e2e/compat/setup.sh more',
    runsBuild: true,
    command: mocha(1, 'e2e/compat/more/*.test.ts'),
  },
  {
    name: 'balanced:stream',
    runs: 'by name',
    setup: SETUP,
    runsBuild: true,
    command: ['e2e/cluster/protocol.ts', 'stream'],
  },
  {
    name: 'protocol:h2',
    runs: 'by name',
    setup: SETUP,
    runsBuild: true,
    command: ['e2e/cluster/protocol.ts', 'h2'],
  },
  {
    name: 'main',
    runs: 'by name',
    runsBuild: true,
    command: mocha(1, `e2e/protocol/@(${PORTABLE}).test.ts`),
  },
];

/**
 * @param jobs files that run at the same time, each in its own process; more than the cores if tests mostly wait
 */
function mocha(jobs: number, ...args: readonly string[]): string[] {
  const parallel = jobs > 1 ? ['--parallel', '--jobs', String(jobs)] : [];
  return [MOCHA, ...parallel, ...args];
}

/**
 * The test files of a folder, starting with those whose names match one of the alternatives of a glob.
 *
 * @param others files that belong to another suite, as alternatives of a glob
 */
function longFirst(folder: string, names: string, others?: string): string[] {
  const left = others === undefined ? names : `${names}|${others}`;
  return [`${folder}/@(${names}).test.ts`, `${folder}/!(${left}).test.ts`];
}

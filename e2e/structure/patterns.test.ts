/**
 * How long the regular expressions of the programs take. Most of them read input of a visitor, a local service or a
 * relay, which may be as long as the limits allow. All are checked, because a pattern for trusted text today may read
 * other text tomorrow.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  isIdentifier,
  isNewExpression,
  isRegularExpressionLiteral,
  type Node,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replaceAll('\\', '/');
/** ms for a pattern that has not been checked yet. */
const CHECK_MS = 20_000;

/** Known to be linear (by `recheck`, which takes a minute for all of them). Any other is checked when the test runs. */
const LINEAR: ReadonlySet<string> = new Set(
  JSON.parse(readFileSync(new URL('linear-patterns.json', import.meta.url), 'utf8')) as string[],
);

/** Patterns that `recheck` cannot decide or finds slow, and why they are acceptable. */
const REVIEWED: ReadonlyMap<string, string> = new Map([
  [
    '/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g',
    'linear: the part without hyphens ends where the next start may be',
  ],
  [
    String.raw`/-----BEGIN CERTIFICATE-----[\w+/=\s]+-----END CERTIFICATE-----/g`,
    'linear: the part without hyphens ends where the next start may be',
  ],
  [
    String.raw`/^process_max_fds(?:\{[^}]*\})? (\S+)$/m`,
    'reads the metrics of the relay on this machine, which have one such line',
  ],
  [
    String.raw`/[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u{200C}\u{200D}]]/v`,
    'one character; recheck does not know the flag',
  ],
  [
    String.raw`/^ *TCP +\S+:(\d+) +(?:0\.0\.0\.0|\[::\]):0 +\S+ +(\d+)\s*?$/gm`,
    'reads lines of netstat, which has no words of others in them',
  ],
  [String.raw`/(\d+(?:\.\d+)?)w(?:eeks?|ochen?)?/g`, 'reads a lifetime that the user types'],
  [String.raw`/(\d+(?:\.\d+)?)(?:d(?:ays?)?|tage?)/g`, 'reads a lifetime that the user types'],
  [String.raw`/^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/`, "reads NO_PROXY of the user's own environment"],
  [String.raw`/(\\*)"/g`, 'quotes an argument that the user types'],
  [String.raw`/(\\+)$/`, 'quotes an argument that the user types'],
  [String.raw`/<g id="mark"[\s\S]*<\/g>/`, 'reads the drawing of the icon when the app is built'],
]);

/** Files that compose patterns, how many, and why each is linear. */
const COMPOSED: ReadonlyMap<string, readonly [number, string]> = new Map([
  ['shared/access.ts', [3, 'one kind of characters, up to 256 times']],
  ['shared/links.ts', [1, 'one character, up to 64 times']],
  ['shared/networks.ts', [1, 'at most 15 characters']],
  ['shared/unprintable.ts', [2, 'one character']],
  ['shared/http1/body.ts', [1, 'recheck finds it linear; at most 1,024 characters']],
  [
    'desktop/app/renderer/model/body/find.ts',
    [1, 'the text that is searched for, with nothing special in it'],
  ],
  ['desktop/app/renderer/model/body/body-view.ts', [1, 'recheck finds it linear']],
  ['desktop/client/relay/api-responses.ts', [1, 'linear: what may follow the start ends at the next start']],
  ['desktop/cli/output/format.ts', [3, 'one kind of characters']],
  ['desktop/cli/view/terminal-view.ts', [1, 'reads what the user types']],
]);

const files = globSync(['desktop/**/*.{ts,tsx}', 'shared/**/*.ts', 'server/**/*.ts'], { cwd: ROOT }).filter(
  (path) => !/\.test\.tsx?$|\/testing\//.test(path),
);

describe('regular expressions of the programs', () => {
  let found: ReadonlyMap<string, FilePatterns>;

  before(() => {
    found = patternsOf(files.map((path) => path.replaceAll('\\', '/')));
  });

  it('take time that grows linearly with the length of the text', async () => {
    const slow: string[] = [];
    for (const [path, { literals }] of found)
      for (const pattern of literals) if (!(await isLinear(pattern))) slow.push(`${path}: ${pattern}`);
    assert.deepEqual(slow, [], 'rewrite it so that no part may begin anew within what another has read');
  });

  it('are composed only in these files', () => {
    const composed = [...found].filter(([, patterns]) => patterns.composed > 0);
    assert.deepEqual(
      composed.map(([path, patterns]) => `${path} ${patterns.composed}`).toSorted(),
      [...COMPOSED].map(([path, [count]]) => `${path} ${count}`).toSorted(),
    );
  });

  it('are recognized when they are slow', async () => {
    for (const source of ['([?&;#])([^=&;#]*)=([^&;#\\s]+)', '^(?:a|a)*$', '\\s+$'])
      assert.equal(await isLinear(`/${source}/g`), false, source);
  });
});

/** @param pattern as written in a source */
async function isLinear(pattern: string): Promise<boolean> {
  if (LINEAR.has(pattern) || REVIEWED.has(pattern)) return true;
  // In this process: the programs that the package would otherwise start are not available on every system.
  process.env['RECHECK_SYNC_BACKEND'] = 'pure';
  const { checkSync } = await import('recheck');
  const end = pattern.lastIndexOf('/');
  return checkSync(pattern.slice(1, end), pattern.slice(end + 1), { timeout: CHECK_MS }).status === 'safe';
}

/** The regular expressions of a file. */
interface FilePatterns {
  /** as written */
  readonly literals: readonly string[];
  /** how many are composed at run time, by `new RegExp` */
  readonly composed: number;
}

/** Reads the regular expressions of files, each of which TypeScript checks in one of its two projects. */
function patternsOf(paths: readonly string[]): Map<string, FilePatterns> {
  const api = new API({ cwd: ROOT });
  try {
    const openProjects = ['', 'desktop/app/renderer/'].map((folder) => `${ROOT}${folder}tsconfig.json`);
    const programs = api
      .updateSnapshot({ openProjects })
      .getProjects()
      .map(({ program }) => program);
    return new Map(
      paths.map((path) => {
        const file = programs.map((program) => program.getSourceFile(ROOT + path)).find((each) => each);
        return [path, patternsIn(file ?? assert.fail(`${path} belongs to no project`))];
      }),
    );
  } finally {
    api.close();
  }
}

function patternsIn(file: Node): FilePatterns {
  const literals: string[] = [];
  let composed = 0;
  const read = (node: Node): void => {
    if (isRegularExpressionLiteral(node)) literals.push(node.text);
    if (isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === 'RegExp')
      composed += 1;
    node.forEachChild(read);
  };
  read(file);
  return { literals, composed };
}

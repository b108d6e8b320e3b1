/** Words that people type out of habit: understood where they mean the same, else answered with the word that is ours. */

const SAME: ReadonlyMap<string, readonly string[]> = new Map([
  ['version', ['--version']],
  ['help', ['--help']],
  ['start', ['serve']],
  ['accounts', ['account', 'list']],
  ['keys', ['key', 'list']],
  ['account ls', ['account', 'list']],
  ['account rm', ['account', 'remove']],
  ['account add', ['account', 'create']],
  ['key ls', ['key', 'list']],
  ['key rm', ['key', 'revoke']],
  ['key add', ['key', 'create']],
]);

const CLIENT_COMMANDS = new Set(['http', 'login', 'logout', 'inspect', 'list', 'status']);

/** Replaces the first words by ours, if they mean the same. */
export function translateWords(argv: readonly string[]): readonly string[] {
  for (const count of [2, 1]) {
    const ours = SAME.get(argv.slice(0, count).join(' '));
    if (ours !== undefined && argv.length >= count) return [...ours, ...argv.slice(count)];
  }
  return argv;
}

/** What is known about a command that does not exist here. */
export function commandHint(words: string): string {
  const [first = ''] = words.split(' ');
  return CLIENT_COMMANDS.has(first)
    ? `that is a command of the client: "culvert ${words}"`
    : 'culvert-relay --help lists them';
}

/** Generates exit-codes.md from the exit codes of both programs. */
import { EXIT_CODE_MEANINGS as CLIENT_CODES } from '../../desktop/client/failures.ts';
import { EXIT_CODE_MEANINGS as RELAY_CODES } from '../../server/cli/command.ts';
import { markdownTable, pageStart } from './page.ts';

/** What a user can do, by exit code of `culvert`. */
const REMEDIES: Readonly<Record<string, string>> = {
  1: 'The message says why. `culvert doctor` finds problems between this machine and the relay.',
  2: 'The message names the option or field and says what it accepts. `culvert help COMMAND` shows examples.',
  3: 'Run `culvert login` with a valid key, or check `--key` and `CULVERT_API_KEY`.',
  4: 'Open the tunnel again; `--ttl` sets a longer time to live.',
  5: 'Stop the other client, or use a different name.',
};

/** @returns the whole page */
export function exitCodesPage(): string {
  const client = Object.entries(CLIENT_CODES).map(([exitCode, meaning]) => [
    `<a id="culvert-${exitCode}"></a>${exitCode}`,
    meaning,
    REMEDIES[exitCode] ?? '',
  ]);
  const relay = Object.entries(RELAY_CODES).map(([exitCode, meaning]) => [exitCode, meaning]);
  return [
    pageStart(
      'Exit codes',
      'desktop/client/failures.ts and server/cli/command.ts',
      'Exit codes are [stable](versioning.md), so scripts can rely on them.',
    ),
    '## culvert\n',
    markdownTable(['code', 'meaning', 'what to do'], client),
    `- SIGTERM and closing the terminal have the same effect as Ctrl-C. A second Ctrl-C ends the program immediately with code 1; its tunnels then remain until they expire.
- If the tunnels opened by \`culvert start\` end with different codes, the command exits with the first of these that occurred: 3, 1, 5, 4, 0.
- \`culvert run\` exits with the code of its command, or with 128 and the number of the signal that ended the command. It exits with 127 if the command was not found, and with 126 if it cannot be executed.
- \`culvert doctor\` exits with 1 if a check fails, and \`culvert domain verify\` exits with 1 if a record is wrong.
- The command exits with 3 or 4 only after the relay has confirmed the refusal on a second connection.
`,
    '## culvert-relay\n',
    markdownTable(['code', 'meaning'], relay),
    '`culvert-relay doctor` exits with 1 if a check fails.\n',
  ].join('\n');
}

/** Generates culvert.md from the commands of `culvert`. */
import { meaningOf, optionsOf, type Usage } from '../../desktop/cli/command.ts';
import { COMMANDS } from '../../desktop/cli/commands.ts';
import { optionUsage, usage } from '../../desktop/cli/help.ts';
import { COMMON, type OptionName } from '../../desktop/cli/options.ts';
import { paragraphsOf } from '../../shared/help-text.ts';
import { code, codeBlock, markdownTable, pageStart, prose } from './page.ts';

const INTRODUCTION = `The command \`culvert\` opens tunnels to local ports and manages them. \`culvert help COMMAND\` prints the same text as this page.
See also [exit codes](exit-codes.md), [culvert.yml](culvert-yml.md) and the [keys for the terminal view](shortcuts.md).

## Configuration

Options take precedence over environment variables, and environment variables take precedence over what \`culvert login\` stored.

| value       | option  | environment                                          | default                                                                               |
| ----------- | ------- | ---------------------------------------------------- | ------------------------------------------------------------------------------------- |
| relay       | --relay | \`CULVERT_RELAY\`                                      | \`relay\` in \`culvert.yml\` (\`start\` only), then the stored relay, then http://localhost:8080 |
| API key     | --key   | \`CULVERT_API_KEY\`                                    | the stored key, if it belongs to the relay                                            |
| trusted certificate authorities | --ca    | \`CULVERT_CA\`, \`NODE_EXTRA_CA_CERTS\`                  | Node.js's own list                                                                      |
| proxy       |         | \`HTTPS_PROXY\`, \`HTTP_PROXY\`, \`ALL_PROXY\`, \`NO_PROXY\` | none                                                                                  |

- If you set \`CULVERT_RELAY\` to another relay, also set \`CULVERT_API_KEY\`: a stored key is sent only to its own relay.
- \`culvert login\` stores the relay and the key in \`login.json\`, which only you can read (mode 0600). The file is in \`~/.config/culvert\` or
  \`$XDG_CONFIG_HOME/culvert\`, on macOS in \`~/Library/Application Support/Culvert\`, and on Windows in \`%APPDATA%\\Culvert\`.
- Other users of the same machine can see options in the process list. Use \`culvert login\` or environment variables for keys, and
  \`--auth USER\` or \`culvert.yml\` for passwords.
- The key is sent over \`http://\` only to a relay on the same machine, unless you use \`--insecure\`, which has no environment variable.
- [Behind a company proxy](../guides/company-proxy.md) explains how proxies are used.

Command and option names from similar programs also work: \`ls\` (\`list\`), \`rm\` and \`stop\` (\`close\`), \`up\` (\`start\`), \`--subdomain\` (\`--name\`), \`--authtoken\`
(\`--key\`), \`--basic-auth\` (\`--auth\`), \`--cidr-allow\` (\`--allow\`).

## Output

In a terminal, \`http\`, \`share\` and \`start\` show a live view. Otherwise they print plain lines or, with \`--json\`, one event per line.
\`NO_COLOR\` and \`TERM=dumb\` are respected. Everything that visitors send is printed as ASCII, with escapes such as \`\\x1b\`, so it
cannot control the terminal. Human-readable text may change between versions; the output of \`--json\` is [stable](versioning.md).`;

/** Options that nearly every command accepts, described once. */
const SHARED = new Set<string>(Object.keys(COMMON));

/** @returns the whole page */
export function culvertPage(): string {
  const commands: readonly Usage[] = COMMANDS;
  return [
    pageStart('The command culvert', 'desktop/cli', INTRODUCTION),
    '## Commands\n',
    markdownTable(
      ['command', 'purpose'],
      commands.map(({ name, summary }) => [`[${code(name)}](#${anchorOf(name)})`, `${summary}.`]),
    ),
    '## Options of most commands\n',
    optionTable({}, [...Object.values(COMMON).flat(), 'help', 'version']),
    ...commands.map(section),
  ].join('\n');
}

function section(command: Usage): string {
  const { name, summary, examples, details = '', options, sections = {} } = command;
  const groups = Object.entries(options).filter(([heading]) => !SHARED.has(heading));
  const own = groups.flatMap(([, names]) => names);
  const other = Object.keys(command.meanings ?? {}).filter(
    (option) => !own.includes(option as OptionName),
  ) as OptionName[];
  return [
    `## culvert ${name}\n`,
    codeBlock('', `${usage(command)}${optionsOf(command).length === 0 ? '' : ' [options]'}`),
    `${summary}.\n`,
    codeBlock('sh', exampleLines(examples)),
    ...paragraphsOf(details).map((paragraph) => `${prose(paragraph)}\n`),
    ...(own.length === 0 && other.length === 0 ? [] : [groupedTable(command, groups, other)]),
    ...Object.entries(sections)
      .filter(([heading]) => heading !== 'Exit codes')
      .map(
        ([heading, text]) => `**${heading}**\n\n${codeBlock(heading === 'culvert.yml' ? 'yaml' : '', text)}`,
      ),
  ].join('\n');
}

function exampleLines(examples: Usage['examples']): string {
  const width = Math.max(...Object.keys(examples).map((line) => line.length));
  return Object.entries(examples)
    .map(([line, effect]) => `${line.padEnd(width)}  # ${effect}`)
    .join('\n');
}

function groupedTable(
  command: Usage,
  groups: readonly (readonly [string, readonly OptionName[]])[],
  other: readonly OptionName[],
): string {
  const rows = [...groups, ...(other.length === 0 ? [] : ([['', other]] as const))].flatMap(
    ([heading, names]) =>
      names.map((name, index) => [
        index === 0 ? heading : '',
        code(optionUsage(name)),
        meaning(command, name),
      ]),
  );
  return markdownTable(['', 'option', 'meaning'], rows);
}

function optionTable(command: Pick<Usage, 'meanings'>, names: readonly OptionName[]): string {
  return markdownTable(
    ['option', 'meaning'],
    names.map((name) => [code(optionUsage(name)), meaning(command, name)]),
  );
}

function meaning(command: Pick<Usage, 'meanings'>, name: OptionName): string {
  return prose(meaningOf(command, name));
}

function anchorOf(name: string): string {
  return `culvert-${name}`;
}

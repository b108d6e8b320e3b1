/** Generates culvert.md from the commands of `culvert`. */
import { meaningOf, optionsOf, type Usage } from '../../desktop/cli/command.ts';
import { COMMANDS } from '../../desktop/cli/commands.ts';
import { optionUsage, usage } from '../../desktop/cli/help.ts';
import { COMMON, type OptionName } from '../../desktop/cli/options.ts';
import { paragraphsOf } from '../../shared/help-text.ts';
import { code, codeBlock, markdownTable, pageStart, prose } from './page.ts';

const INTRODUCTION = `The command \`culvert\` opens tunnels to local ports and manages them. \`culvert help COMMAND\` prints the same text as this page.
See also [exit codes](exit-codes.md), [culvert.yml](culvert-yml.md) and the [keys of the terminal view](shortcuts.md).

## Configuration

An option takes precedence over the environment, and the environment over what \`culvert login\` stored.

| value       | option  | environment                                          | default                                                                               |
| ----------- | ------- | ---------------------------------------------------- | ------------------------------------------------------------------------------------- |
| relay       | --relay | \`CULVERT_RELAY\`                                      | \`relay\` in \`culvert.yml\` (\`start\` only), then the stored one, then http://localhost:8080 |
| API key     | --key   | \`CULVERT_API_KEY\`                                    | the stored one, if it belongs to the relay                                            |
| authorities | --ca    | \`CULVERT_CA\`, \`NODE_EXTRA_CA_CERTS\`                  | those of Node.js                                                                      |
| proxy       |         | \`HTTPS_PROXY\`, \`HTTP_PROXY\`, \`ALL_PROXY\`, \`NO_PROXY\` | none                                                                                  |

- If you set \`CULVERT_RELAY\` to another relay, also set \`CULVERT_API_KEY\`: a stored key is sent only to its own relay.
- \`culvert login\` stores relay and key in \`login.json\`, which only you can read (0600): in \`~/.config/culvert\` or
  \`$XDG_CONFIG_HOME/culvert\`, on macOS in \`~/Library/Application Support/Culvert\`, on Windows in \`%APPDATA%\\Culvert\`.
- Other users of a machine can see options in the process list. Prefer \`culvert login\` or the environment for keys, and
  \`--auth USER\` or \`culvert.yml\` for passwords.
- The key is sent over \`http://\` only to a relay on the same machine, or with \`--insecure\`. No environment variable replaces \`--insecure\`.
- [Behind a company proxy](../guides/company-proxy.md) has the rules for proxies.

Command and option names of similar programs also work: \`ls\` (\`list\`), \`rm\` and \`stop\` (\`close\`), \`up\` (\`start\`), \`--subdomain\` (\`--name\`), \`--authtoken\`
(\`--key\`), \`--basic-auth\` (\`--auth\`), \`--cidr-allow\` (\`--allow\`).

## Output

On a terminal, \`http\`, \`share\` and \`start\` show a view that updates. Elsewhere they print lines; with \`--json\`, one event per line.
\`NO_COLOR\` and \`TERM=dumb\` are respected. Everything that comes from visitors is printed as ASCII with escapes such as \`\\x1b\`, so it
cannot control the terminal. Human-readable text may change between versions; \`--json\` is [stable](versioning.md).`;

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

/** Generates culvert.md from the commands of `culvert`, and culvert-yml.md from the same options as fields of a file. */
import { type Group, meaningOf, optionsOf, type Usage } from '../../desktop/cli/command-line/command.ts';
import { COMMANDS } from '../../desktop/cli/commands/commands.ts';
import { commandsOf, isGroup, optionUsage, usage } from '../../desktop/cli/command-line/help.ts';
import { COMMON, type OptionName, OPTIONS } from '../../desktop/cli/command-line/options.ts';
import { startCommand } from '../../desktop/cli/commands/start.ts';
import { ACCESS_FIELD_MESSAGES } from '../../desktop/client/config/project-access.ts';
import { TUNNEL_FIELD_RULES } from '../../desktop/client/config/project.ts';
import { textOf, toMessage } from '../../desktop/client/messages.ts';
import { paragraphsOf } from '../../shared/help-text.ts';
import { readable } from './limits-page.ts';
import { code, codeBlock, markdownTable, pageStart, prose, sentence } from './page.ts';
import { CONFIG_FILE_MAX_BYTES } from '../../desktop/client/config/durable-file.ts';
import { CONFIG_TUNNELS_MAX, LABEL_MAX_LENGTH } from '../../desktop/client/config/tunnel-spec.ts';

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
  const rows: readonly (Usage | Group)[] = COMMANDS;
  return [
    pageStart('The command culvert', 'desktop/cli', INTRODUCTION),
    '## Commands\n',
    markdownTable(
      ['command', 'purpose'],
      rows.map(({ name, summary }) => [`[${code(name)}](#${anchorOf(name)})`, `${summary}.`]),
    ),
    '## Options of most commands\n',
    optionTable({}, [...Object.values(COMMON).flat(), 'help', 'version']),
    ...rows.map((row) => (isGroup(row) ? groupSection(row) : section(row))),
  ].join('\n');
}

function groupSection(group: Group): string {
  return [
    `## culvert ${group.name}\n`,
    codeBlock('', usage(group)),
    `${group.summary}.\n`,
    ...paragraphsOf(group.details ?? '').map((paragraph) => `${prose(paragraph)}\n`),
    ...commandsOf(group).map((command) => section(command, '###')),
  ].join('\n');
}

function section(command: Usage, mark = '##'): string {
  const { name, summary, examples, details = '', options, sections = {} } = command;
  const groups = Object.entries(options).filter(([heading]) => !SHARED.has(heading));
  const own = groups.flatMap(([, names]) => names);
  const other = Object.keys(command.meanings ?? {}).filter(
    (option) => !own.includes(option as OptionName),
  ) as OptionName[];
  return [
    `${mark} culvert ${name}\n`,
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

const PROJECT_INTRODUCTION = `A \`culvert.yml\` lists the tunnels of a project. [\`culvert start\`](culvert.md#culvert-start) uses the nearest one, in the working directory
or above it, or the file given with \`--config\`. [Projects](../guides/projects.md) is a guide.`;

/** Fields whose meaning is not that of the option of `culvert http`. */
const OTHER_FIELDS: Readonly<Record<string, string>> = {
  auth: 'Admit visitors who log in with HTTP Basic.',
  password: 'Admit visitors who enter this password. `true` generates three words and shows them.',
  allow: 'Admit only visitors from these addresses and networks, such as 192.0.2.7 or 10.0.0.0/8.',
  tokens:
    'Admit programs that send one of these tokens as `Authorization: Bearer`. A name alone keeps its token, or the relay makes one and shows it once.',
  away: 'What visitors read while no client serves the name. Without it, the message of the name stays as it is. Includes `keep`.',
  port: 'Local port. Every tunnel needs `port`, `share`, or `hosts` with `*`.',
  hosts:
    'Local ports for hosts of a wildcard tunnel, by the text before the two hyphens or the domain; `"*"` for all other hosts. Includes `wildcard`.',
  protocol:
    'What the tunnel carries: HTTP (the default), TLS that ends at the service, or any protocol over TCP. With `tls` and `tcp`, the only access field is `allow`, and fields about HTTP are errors.',
  remote_port:
    'With `protocol: tcp`: the port of the relay, if it is free. By default, the relay chooses one.',
  share:
    'Folder to share instead of a port. It must be inside the folder that contains the file. It cannot be combined with fields that apply to a port.',
};

/** @returns the whole page */
export function projectPage(): string {
  const rules = Object.entries(TUNNEL_FIELD_RULES).map(([name, { accepted }]) => [name, accepted] as const);
  const access = Object.entries(ACCESS_FIELD_MESSAGES).map(
    ([name, message]) => [name, textOf(toMessage(message)).replace(/^(?:it takes|must be) /, '')] as const,
  );
  return [
    pageStart(
      'culvert.yml',
      'desktop/client/config and desktop/cli/command-line/options.ts',
      PROJECT_INTRODUCTION,
    ),
    codeBlock('yaml', startCommand.sections?.['culvert.yml'] ?? ''),
    '## Fields\n',
    markdownTable(
      ['field', 'accepts', 'meaning'],
      [
        [
          code('relay'),
          'http:// or https://',
          'Address of the relay. Options and environment variables take precedence.',
        ],
        [
          code('tunnels'),
          `1 to ${CONFIG_TUNNELS_MAX} tunnels by label`,
          `A label has 1 to ${LABEL_MAX_LENGTH} letters, digits, hyphens and underscores.`,
        ],
      ],
    ),
    'Fields of a tunnel:\n',
    markdownTable(
      ['field', 'accepts', 'meaning'],
      [...rules, ...access].map(([name, accepted]) => [code(name), prose(accepted), fieldMeaning(name)]),
    ),
    `In \`name\`, \`domain\`, \`auth\`, \`password\`, \`allow\`, \`sign_in\` and the tokens of \`tokens\`, \`\${NAME}\` stands for the value of an environment variable, which must be set and not empty; \`$\${\`
stands for \`\${\`. All errors are reported together, each with its file, line and field. The file may have at most ${readable('CONFIG_FILE_MAX_BYTES', CONFIG_FILE_MAX_BYTES)} and must not contain a key.
`,
    SECURITY,
  ].join('\n');
}

/** The meaning of the option of the same name. */
function fieldMeaning(field: string): string {
  const option = field === 'oauth' ? 'mcp' : field.replaceAll('_', '-');
  return OTHER_FIELDS[field] ?? sentence(prose(OPTIONS[option as OptionName].text));
}

const SECURITY = `## Files from other people

A \`culvert.yml\` makes ports of your machine reachable from the internet, so read it before you run \`culvert start\`. Some actions need your
consent, and others are never allowed:

| action                                | allowed only if                                                                                                     |
| ------------------------------------- | ------------------------------------------------------------------------------------------------------------------- |
| send your key to the relay it names   | \`CULVERT_RELAY\` or \`--relay\` names a relay, or it is the relay you logged in to                                     |
| be used even though a different user owns it | \`--config\` names it. Under \`sudo\`, files of the caller are accepted. On Windows, owners are not checked             |
| reach another machine (\`local_host\`)  | \`--allow-other-hosts\` is given                                                                                      |
| share a folder outside its own folder | never                                                                                                               |
| contain a key, a proxy or a certificate authority | never: there are no such fields                                                                                    |

Each violation is reported on one line that names the file and the field. The command exits with code 2 before it contacts the relay.
`;

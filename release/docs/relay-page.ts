/** Generates culvert-relay.md and settings.md from the commands and settings of the relay. */
import { OPTIONS, type OptionName } from '../../desktop/cli/options.ts';
import { startCommand } from '../../desktop/cli/tunnel-commands.ts';
import { ACCESS_FIELD_MESSAGES } from '../../desktop/client/config/project-access.ts';
import { TUNNEL_FIELD_RULES } from '../../desktop/client/config/project.ts';
import { CONFIG_FILE_MAX_BYTES, CONFIG_TUNNELS_MAX, LABEL_MAX_LENGTH } from '../../desktop/client/limits.ts';
import { textOf, toMessage } from '../../desktop/client/messages.ts';
import type { RelayUsage } from '../../server/cli/command.ts';
import { COMMAND_GROUPS } from '../../server/cli/commands.ts';
import { SERVE_USAGE } from '../../server/cli/serve-command.ts';
import { ALL_SETTINGS, SETTING_GROUPS } from '../../server/settings.ts';
import { paragraphsOf } from '../../shared/help-text.ts';
import { CLIENT_VARIABLE_MEANINGS } from '../../shared/version.ts';
import { readable } from './limits-page.ts';
import { code, codeBlock, markdownTable, pageStart, prose, sentence } from './page.ts';

const COMMANDS_INTRODUCTION = `The command \`culvert-relay\` runs a relay and manages its accounts, keys and tunnels. \`culvert-relay help COMMAND\` prints the
same text as this page. See also [settings](settings.md), [exit codes](exit-codes.md) and [operating a relay](../operating/README.md).

Every command except \`serve\` works directly on the relay's database, whether or not the relay is running. Give the command
the same \`--data-dir\` or \`--database-url\` as the relay. A running relay applies changes within a second. Every change is recorded in the audit
log. All commands except \`serve\` accept \`--json\`, which prints [stable](versioning.md) JSON to standard output; messages for people go to
standard error.`;

const SETTINGS_INTRODUCTION = `You can set every relay setting as an environment variable or as an option of \`culvert-relay serve\`; the option takes precedence. An empty value
has the same effect as no value. If a setting is invalid or a \`CULVERT_…\` variable is unknown, the relay reports it and exits with code 2.
Pass secrets in environment variables, because other users of the machine can see command-line options.`;

/** @returns culvert-relay.md */
export function culvertRelayPage(): string {
  const groups = Object.entries({ Relay: [SERVE_USAGE], ...COMMAND_GROUPS });
  return [
    pageStart('The command culvert-relay', 'server/cli', COMMANDS_INTRODUCTION),
    markdownTable(
      ['', 'command', 'purpose'],
      groups.flatMap(([heading, usages]) =>
        usages.map(({ words, summary }, index) => [
          index === 0 ? heading : '',
          `[${code(words)}](#culvert-relay-${words.replaceAll(' ', '-')})`,
          `${summary}.`,
        ]),
      ),
    ),
    ...groups.flatMap(([, usages]) => usages.map(section)),
  ].join('\n');
}

function section({ words, forms, summary, options, examples, details = '' }: RelayUsage): string {
  const own = Object.entries(options).filter(([name]) => name !== 'json');
  const rows = own.map(([name, { value, text }]) => [
    code(`--${name}${value === undefined ? '' : ` ${value}`}`),
    prose(text),
  ]);
  return [
    `## culvert-relay ${words}\n`,
    codeBlock('', forms.map((form) => `culvert-relay ${words} ${form}`).join('\n')),
    `${summary}.\n`,
    codeBlock(
      'sh',
      Object.entries(examples)
        .map(([line, effect]) => `${line}  # ${effect}`)
        .join('\n'),
    ),
    ...paragraphsOf(details).map((paragraph) => `${prose(paragraph)}\n`),
    ...(rows.length === 0 ? [] : [markdownTable(['option', 'meaning'], rows)]),
  ].join('\n');
}

/** @returns settings.md */
export function settingsPage(): string {
  const areas = Object.entries(SETTING_GROUPS).map(([heading, names]) => {
    const rows = ALL_SETTINGS.filter(({ name }) => names.includes(name)).map(
      ({ name, variable, fallback, meaning, reader }) => [
        `<a id="${variable.toLowerCase()}"></a>${code(variable)}, ${code(`--${name}`)}`,
        prose(meaning),
        prose(reader.takes),
        fallback === 'none' ? '' : fallback.includes('…') ? fallback : code(fallback),
      ],
    );
    return `### ${heading}\n\n${markdownTable(['setting', 'meaning', 'accepts', 'default'], rows)}`;
  });
  return [
    pageStart('Settings', 'server/settings.ts and shared/version.ts', SETTINGS_INTRODUCTION),
    '## The relay\n',
    ...areas,
    'Some settings depend on others. `CULVERT_TLS_CERT` needs `CULVERT_TLS_KEY`. `CULVERT_ACME_EMAIL` needs a `CULVERT_PUBLIC_URL` with\n`https://`, and cannot be combined with `CULVERT_TLS_CERT` or `CULVERT_TRUST_PROXY`. `CULVERT_REDIS_URL` needs\n`CULVERT_CLUSTER_SECRET` and PostgreSQL. `CULVERT_REUSE_PORT` needs `CULVERT_REDIS_URL`.\n',
    '## The client\n',
    'Options take precedence over these variables (see [Configuration](culvert.md#configuration)).\n',
    markdownTable(
      ['variable', 'meaning'],
      Object.entries(CLIENT_VARIABLE_MEANINGS).map(([name, meaning]) => [code(name), meaning]),
    ),
  ].join('\n');
}

const INTRODUCTION = `A \`culvert.yml\` lists the tunnels of a project. [\`culvert start\`](culvert.md#culvert-start) uses the nearest one, in the working directory
or above it, or the file given with \`--config\`. [Projects](../guides/projects.md) is a guide.`;

/** Fields whose meaning is not that of the option of `culvert http`. */
const OTHER_FIELDS: Readonly<Record<string, string>> = {
  auth: 'Admit visitors who log in with HTTP Basic.',
  password: 'Admit visitors who enter this password. `true` generates three words and shows them.',
  allow: 'Admit only visitors from these addresses and networks, such as 192.0.2.7 or 10.0.0.0/8.',
  tokens:
    'Admit programs that send one of these tokens as `Authorization: Bearer`. A name alone keeps its token, or the relay makes one and shows it once.',
  port: 'Local port. Every tunnel needs `port`, `share`, or `hosts` with `*`.',
  hosts:
    'Local ports for hosts of a wildcard tunnel, by the text before the two hyphens or the domain; `"*"` for all other hosts. Includes `wildcard`.',
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
    pageStart('culvert.yml', 'desktop/client/config and desktop/cli/options.ts', INTRODUCTION),
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
      [...rules, ...access].map(([name, accepted]) => [code(name), prose(accepted), meaningOf(name)]),
    ),
    `In \`auth\`, \`password\`, \`allow\` and the tokens of \`tokens\`, \`\${NAME}\` stands for the value of an environment variable, which must be set and not empty; \`$\${\`
stands for \`\${\`. All errors are reported together, each with its file, line and field. The file may have at most ${readable('CONFIG_FILE_MAX_BYTES', CONFIG_FILE_MAX_BYTES)} and must not contain a key.
`,
    SECURITY,
  ].join('\n');
}

/** The meaning of the option of the same name. */
function meaningOf(field: string): string {
  const option = field.replaceAll('_', '-');
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

/** Generates culvert-relay.md and settings.md from the commands and settings of the relay. */
import { COMMAND_GROUPS } from '../../server/cli/commands.ts';
import type { RelayUsage } from '../../server/cli/command.ts';
import { SERVE_USAGE } from '../../server/cli/serve-command.ts';
import { SETTINGS_BY_AREA } from '../../server/settings.ts';
import { paragraphsOf } from '../../shared/help-text.ts';
import { CLIENT_VARIABLE_MEANINGS } from '../../shared/version.ts';
import { code, codeBlock, markdownTable, pageStart, prose } from './page.ts';

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
  const areas = SETTINGS_BY_AREA.map(([area, settings]) => {
    const rows = settings.map(({ name, variable, fallback, meaning, reader }) => [
      `<a id="${variable.toLowerCase()}"></a>${code(variable)}, ${code(`--${name}`)}`,
      prose(meaning),
      prose(reader.takes),
      fallback === 'none' ? '' : fallback.includes('…') ? fallback : code(fallback),
    ]);
    return `### ${area}\n\n${markdownTable(['setting', 'meaning', 'accepts', 'default'], rows)}`;
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

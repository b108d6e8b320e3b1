/** What the table of commands is for people: the texts of `culvert help`. */
import { helpParagraph, helpRow, paragraphsOf } from '../../../shared/help-text.ts';
import { EXIT_CODE_MEANINGS } from '../../client/failures.ts';
import { type Group, meaningOf, operandsOf, optionsOf, type Usage } from './command.ts';
import { type OptionName, OPTIONS } from './options.ts';

export const EXIT_CODES = Object.entries(EXIT_CODE_MEANINGS)
  .map(([code, meaning]) => `${code}  ${meaning}\n`)
  .join('');

/** A summary of all commands. */
export function overview(all: readonly (Usage | Group)[]): string {
  const commands = all.map((each) => helpRow(`  ${usage(each)}`, each.summary));
  return `Culvert puts a local port on the internet, through a relay you run yourself.

Usage: culvert COMMAND [options]

Examples:
${exampleRows({
  'culvert login https://relay.example.com': 'store your API key',
  'culvert http 3000': 'open a tunnel to port 3000',
  'culvert help http': 'explain a command',
})}
Commands:
${commands.join('')}${helpRow('  culvert help COMMAND', 'Explain a command, its options and its output')}
Options of most commands:
${optionRows(undefined, ['relay', 'key', 'json', 'help', 'version'])}
Options take precedence over the environment, and the environment over what "culvert login" stored.

Files:
${helpRow('  culvert.yml', 'Defines the tunnels of a project. See "culvert help start".')}${helpRow('  login.json', 'Contains the stored relay and key. It is in ~/.config/culvert (or XDG_CONFIG_HOME), ~/Library/Application Support/Culvert or %APPDATA%\\Culvert.')}
Exit codes:
${indented(EXIT_CODES)}`;
}

/** Explains one command. */
export function commandHelp(command: Usage): string {
  const { summary, options, examples, details = '', sections = {} } = command;
  return [
    `${summary}.\n`,
    `Usage: ${usage(command)}${optionsOf(command).length === 0 || operandsOf(command).includes('[options]') ? '' : ' [options]'}\n`,
    `Examples:\n${exampleRows(examples)}`,
    ...paragraphsOf(details).map(helpParagraph),
    ...Object.entries(options).map(([heading, names]) => `${heading}:\n${optionRows(command, names)}`),
    `Help:\n${optionRows(undefined, ['help'])}`,
    ...Object.entries(sections).map(([heading, text]) => `${heading}:\n${indented(text)}`),
  ].join('\n');
}

/** Explains what the commands of a group have in common, and lists them. */
export function groupHelp(group: Group): string {
  const commands = commandsOf(group);
  const examples = Object.assign({}, ...commands.map((command) => command.examples)) as Usage['examples'];
  return [
    `${group.summary}.\n`,
    `Usage: ${usage(group)}\n`,
    `Examples:\n${exampleRows(examples)}`,
    ...paragraphsOf(group.details ?? '').map(helpParagraph),
    `Commands:\n${commands.map((each) => helpRow(`  ${usage(each)}`, each.summary)).join('')}`,
    `Run "culvert help ${commands[0]?.name}" to see the options of a command.\n`,
  ].join('\n');
}

export function isGroup(row: Usage | Group): row is Group {
  return 'commands' in row;
}

/** The commands of a row that people call. */
export function commandsOf(row: Usage | Group): readonly Usage[] {
  return isGroup(row) ? row.commands.filter(({ isInternal = false }) => !isInternal) : [row];
}

/** The second words of a group's commands. */
export function wordsOf(group: Group): string[] {
  return commandsOf(group).map(({ name }) => name.slice(group.name.length + 1));
}

/** How a command is typed, or all of a group. */
export function usage(row: Usage | Group): string {
  return `culvert ${row.name} ${isGroup(row) ? formsOf(row) : operandsOf(row)}`.trimEnd();
}

function formsOf(group: Group): string {
  const forms = commandsOf(group).map((each) => usage(each).replace(`culvert ${group.name} `, ''));
  return group.fallback === undefined ? forms.join(' | ') : `[${forms.join(' | ')}]`;
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

function exampleRows(examples: Usage['examples']): string {
  return Object.entries(examples)
    .map(([line, effect]) => `  ${line.padEnd(48)}  # ${effect}\n`)
    .join('');
}

/** @param command `undefined` for the usual meanings */
function optionRows(command: Usage | undefined, names: readonly OptionName[]): string {
  return names.map((name) => helpRow(`  ${optionUsage(name)}`, meaningOf(command ?? {}, name))).join('');
}

/** An option with its placeholder, such as `--name NAME`. */
export function optionUsage(name: OptionName): string {
  const { short, value } = OPTIONS[name];
  const long = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return short === undefined ? long : `-${short}, ${long}`;
}

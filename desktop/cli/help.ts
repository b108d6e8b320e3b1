/** The text of `culvert help`, and the manual page. */
import { helpParagraph, helpRow, paragraphsOf } from '../../shared/help-text.ts';
import { VERSION } from '../../shared/version.ts';
import { EXIT_CODE_MEANINGS } from '../client/failures.ts';
import { defineCommand, meaningOf, optionsOf, type Usage } from './command.ts';
import { OPTION_NAMES, OPTIONS, type OptionName } from './options.ts';

export const EXIT_CODES = Object.entries(EXIT_CODE_MEANINGS)
  .map(([code, meaning]) => `${code}  ${meaning}\n`)
  .join('');

/** A summary of all commands. */
export function overview(all: readonly Usage[]): string {
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
    `Usage: ${usage(command)}${optionsOf(command).length === 0 || command.operands.includes('[options]') ? '' : ' [options]'}\n`,
    `Examples:\n${exampleRows(examples)}`,
    ...paragraphsOf(details).map(helpParagraph),
    ...Object.entries(options).map(([heading, names]) => `${heading}:\n${optionRows(command, names)}`),
    `Help:\n${optionRows(undefined, ['help'])}`,
    ...Object.entries(sections).map(([heading, text]) => `${heading}:\n${indented(text)}`),
  ].join('\n');
}

export function usage({ name, operands }: Pick<Usage, 'name' | 'operands'>): string {
  return `culvert ${name} ${operands}`.trimEnd();
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

/* The manual page. */

export const manCommand = defineCommand({
  name: 'man',
  operands: '',
  summary: 'Print the manual page',
  options: {},
  examples: { 'culvert man | man -l -': 'show the manual page' },
  read: (line) => line.atMost(0),
  run: async (_, { commands, output }) => output.out(manualPage(commands, new Date())),
});

/** In the language of man(7): `culvert man | man -l -`, or kept as `culvert.1`. @param now its date */
export function manualPage(commands: readonly Usage[], now: Date): string {
  return `.TH CULVERT 1 "${now.toISOString().slice(0, 10)}" "culvert ${VERSION}" "Culvert"
.SH NAME
culvert \\- exposes a local port on the internet through a Culvert relay
.SH SYNOPSIS
.B culvert
.I COMMAND
.RI [ options ]
.SH COMMANDS
${commands.map(manualEntry).join('')}.SH OPTIONS
${OPTION_NAMES.map(manualOption).join('')}.SH EXIT STATUS
${Object.entries(EXIT_CODE_MEANINGS)
  .map(([code, meaning]) => `.TP\n.B ${code}\n${escaped(meaning)}\n`)
  .join('')}`;
}

function manualEntry(command: Usage): string {
  const { name, operands, summary } = command;
  const options = optionsOf(command)
    .map((word) => `--${word}`)
    .join(', ');
  return `.TP\n.B ${escaped(`${name} ${operands}`.trimEnd())}\n${escaped(`${summary}.`)}${options === '' ? '' : ` Options: ${escaped(options)}.`}\n`;
}

function manualOption(name: OptionName): string {
  return `.TP\n.B ${escaped(optionUsage(name))}\n${escaped(OPTIONS[name].text)}\n`;
}

/** Characters that roff reads as its own: backslashes, hyphens, and points and quotes that begin a line. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', String.raw`\-`)
    .replace(/^(?=[.'])/, String.raw`\&`);
}

/** The text of `culvert help`, and the manual page. */
import { VERSION } from '../../shared/version.ts';
import { defineCommand, type Usage } from './command.ts';
import { EXIT_CODES, OPTION_NAMES, OPTIONS, type OptionName } from './options.ts';

/** Columns up to the explanations. */
const INDENT = 28;
const WIDTH = 100;

/** A summary of all commands. */
export function overview(all: readonly Usage[]): string {
  const commands = all.map((each) => row(usage(each), each.summary));
  return `culvert: puts a local port on the internet through a Culvert relay

Usage:
${commands.join('')}${row('culvert help COMMAND', 'explain a command, its options and what it prints')}
Options of most commands; they override the environment, which overrides what login has stored:
${optionRows(['relay', 'key', 'json', 'help', 'version'])}
Files:
${row('  culvert.yml', 'tunnels of a project, see "culvert help start"')}${row('  login.json', 'the relay and the key that login has stored, in ~/.config/culvert (XDG_CONFIG_HOME), ~/Library/Application Support/Culvert or %APPDATA%\\Culvert')}
${EXIT_CODES}`;
}

/** Explains one command. */
export function commandHelp(command: Usage): string {
  const { summary, options, examples, details } = command;
  const parts = [`${usage(command)}: ${summary}\n`, `Options:\n${optionRows([...options, 'help'])}`];
  if (examples !== undefined) parts.push(`Examples:\n${examples.map((line) => `  ${line}\n`).join('')}`);
  if (details !== undefined) parts.push(details);
  return parts.join('\n');
}

function usage({ name, operands }: Usage): string {
  return `culvert ${name} ${operands}`.trimEnd();
}

function optionRows(names: readonly OptionName[]): string {
  return names.map((name) => row(`  ${optionUsage(name)}`, OPTIONS[name].text)).join('');
}

function optionUsage(name: OptionName): string {
  const { short, value } = OPTIONS[name];
  const long = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return short === undefined ? long : `-${short}, ${long}`;
}

/** A word and its explanation beside it, wrapped. */
function row(word: string, text: string): string {
  const lines = [''];
  for (const part of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && INDENT + line.length + 1 + part.length > WIDTH) lines.push(part);
    else lines[lines.length - 1] = line === '' ? part : `${line} ${part}`;
  }
  const head = word.length < INDENT ? word.padEnd(INDENT) : `${word}\n${' '.repeat(INDENT)}`;
  return `${head}${lines.join(`\n${' '.repeat(INDENT)}`)}\n`;
}

/* The manual page. */

export const manCommand = defineCommand({
  name: 'man',
  operands: '',
  summary: 'print the manual page',
  options: [],
  details: `  culvert man | man -l -
`,
  read: (line) => line.atMost(0),
  run: async (_, { commands, output }) => output.out(manualPage(commands, new Date())),
});

/** In the language of man(7): `culvert man | man -l -`, or kept as `culvert.1`. @param now its date */
export function manualPage(commands: readonly Usage[], now: Date): string {
  return `.TH CULVERT 1 "${now.toISOString().slice(0, 10)}" "culvert ${VERSION}" "Culvert"
.SH NAME
culvert \\- puts a local port on the internet through a Culvert relay
.SH SYNOPSIS
.B culvert
.I COMMAND
.RI [ options ]
.SH COMMANDS
${commands.map(manualEntry).join('')}.SH OPTIONS
${OPTION_NAMES.map(manualOption).join('')}.SH EXIT STATUS
0 ended by Ctrl-C, or done; 1 failed; 2 wrong usage; 3 API key refused; 4 tunnel closed or expired; 5 taken over by another client.
`;
}

function manualEntry({ name, operands, summary, options }: Usage): string {
  const taken = options.map((word) => `--${word}`).join(', ');
  return `.TP\n.B ${escaped(`${name} ${operands}`.trimEnd())}\n${sentence(summary)}${taken === '' ? '' : ` Takes ${escaped(taken)}.`}\n`;
}

function manualOption(name: OptionName): string {
  return `.TP\n.B ${escaped(optionUsage(name))}\n${sentence(OPTIONS[name].text)}\n`;
}

function sentence(text: string): string {
  return escaped(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
}

/** Characters that roff reads as its own: backslashes, hyphens, and points and quotes that begin a line. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', String.raw`\-`)
    .replace(/^(?=[.'])/, String.raw`\&`);
}

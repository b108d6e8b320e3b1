/** `culvert man`: the manual page, from the tables of commands and options. */
import { VERSION } from '../../../shared/version.ts';
import { EXIT_CODE_MEANINGS } from '../../client/failures.ts';
import { defineCommand, type Group, operandsOf, optionsOf, type Usage } from '../command-line/command.ts';
import { commandsOf, optionUsage } from '../command-line/help.ts';
import { OPTION_NAMES, type OptionName, OPTIONS } from '../command-line/options.ts';

export const manCommand = defineCommand({
  name: 'man',
  summary: 'Print the manual page',
  options: {},
  examples: { 'culvert man | man -l -': 'show the manual page' },
  read: () => undefined,
  run: async (_, { commands, output }) => output.out(manualPage(commands, new Date())),
});

/** In the language of man(7): `culvert man | man -l -`, or kept as `culvert.1`. @param now its date */
export function manualPage(commands: readonly (Usage | Group)[], now: Date): string {
  return `.TH CULVERT 1 "${now.toISOString().slice(0, 10)}" "culvert ${VERSION}" "Culvert"
.SH NAME
culvert \\- exposes a local port on the internet through a Culvert relay
.SH SYNOPSIS
.B culvert
.I COMMAND
.RI [ options ]
.SH COMMANDS
${commands.flatMap(commandsOf).map(manualEntry).join('')}.SH OPTIONS
${OPTION_NAMES.map(manualOption).join('')}.SH EXIT STATUS
${Object.entries(EXIT_CODE_MEANINGS)
  .map(([code, meaning]) => `.TP\n.B ${code}\n${escaped(meaning)}\n`)
  .join('')}`;
}

function manualEntry(command: Usage): string {
  const { name, summary } = command;
  const options = optionsOf(command)
    .map((word) => `--${word}`)
    .join(', ');
  return `.TP\n.B ${escaped(`${name} ${operandsOf(command)}`.trimEnd())}\n${escaped(`${summary}.`)}${options === '' ? '' : ` Options: ${escaped(options)}.`}\n`;
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

/** The manual page of `culvert`, from the tables that the help and the reader use. */
import { VERSION } from '../../shared/version.ts';
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  OPTION_NAMES,
  OPTIONS,
  type OptionName,
} from './options.ts';

/** In the language of man(7): `culvert man | man -l -`, or kept as `culvert.1`. @param now its date */
export function manualPage(now: Date): string {
  return `.TH CULVERT 1 "${now.toISOString().slice(0, 10)}" "culvert ${VERSION}" "Culvert"
.SH NAME
culvert \\- puts a local port on the internet through a Culvert relay
.SH SYNOPSIS
.B culvert
.I COMMAND
.RI [ options ]
.SH COMMANDS
${COMMAND_NAMES.map(command).join('')}.SH OPTIONS
${OPTION_NAMES.map(option).join('')}.SH EXIT STATUS
0 ended by Ctrl-C, or done; 1 failed; 2 wrong usage; 3 API key refused; 4 tunnel closed or expired; 5 taken over by another client.
`;
}

function command(name: CommandName): string {
  const { operands, summary, options } = COMMANDS[name];
  const taken = options.map((word) => `--${word}`).join(', ');
  return `.TP\n.B ${escaped(`${name} ${operands}`.trimEnd())}\n${sentence(summary)}${taken === '' ? '' : ` Takes ${escaped(taken)}.`}\n`;
}

function option(name: OptionName): string {
  const { short, value, text } = OPTIONS[name];
  const long = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return `.TP\n.B ${escaped(short === undefined ? long : `-${short}, ${long}`)}\n${sentence(text)}\n`;
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

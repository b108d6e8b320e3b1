/** What the tables of commands and options are for people: `culvert help`, `man` and `completion`. */
import { helpParagraph, helpRow, paragraphsOf } from '../../../shared/help-text.ts';
import { VERSION } from '../../../shared/version.ts';
import { EXIT_CODE_MEANINGS, UsageError } from '../../client/failures.ts';
import { type CommandLine, defineCommand, meaningOf, optionsOf, type Usage } from './command.ts';
import { OPTION_NAMES, type OptionName, OPTIONS } from './options.ts';

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

/* `culvert completion`: completes commands and options in shells. */

/** Shells that there is a script for. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
type Shell = (typeof SHELLS)[number];

export const completionCommand = defineCommand({
  name: 'completion',
  operands: SHELLS.join('|'),
  words: SHELLS,
  summary: 'Print a completion script for your shell',
  options: {},
  examples: {
    'source <(culvert completion bash)': 'in ~/.bashrc',
    'source <(culvert completion zsh)': 'in ~/.zshrc, after compinit',
    'culvert completion fish | source': 'in ~/.config/fish/config.fish',
    'culvert completion powershell | Out-String | Invoke-Expression': 'in $PROFILE',
  },
  read: readShell,
  run: async (shell, { commands, output }) => output.out(completionScript(shell, commands)),
});

function readShell(line: CommandLine): Shell {
  line.atMost(1);
  const [given] = line.operands;
  const shell = SHELLS.find((name) => name === given);
  if (shell !== undefined) return shell;
  throw new UsageError(`The shell must be one of ${SHELLS.join(', ')}.`);
}

/** Options of every command. */
const ALWAYS: readonly OptionName[] = ['help', 'version'];
const HELP = 'explain a command';

type Commands = readonly Usage[];

/** A script for the shell to read: see "culvert help completion". */
export function completionScript(shell: Shell, commands: Commands): string {
  return SCRIPTS[shell](commands);
}

const SCRIPTS: Readonly<Record<Shell, (commands: Commands) => string>> = { bash, zsh, fish, powershell };

function bash(all: Commands): string {
  return `# culvert completion bash
_culvert() {
  local word=\${COMP_WORDS[COMP_CWORD]} options= words= IFS=$'\\n'
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${[...namesOf(all), 'help'].join('\n')}' -- "$word"))
    return
  fi
  case \${COMP_WORDS[COMP_CWORD-1]} in
    ${optionsThat((name) => valueOf(name) === 'FILE').join('|')}) compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")); return ;;
    ${optionsThat((name) => takesValue(name) && valueOf(name) !== 'FILE').join('|')}) return ;;
  esac
  case \${COMP_WORDS[1]} in
${all.map((each) => `    ${each.name}) options='${optionWords(each).join('\n')}' words='${wordsOf(each).join('\n')}' ;;`).join('\n')}
    help) words='${namesOf(all).join('\n')}' ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *)
      if [ "\${COMP_WORDS[1]}" = share ]; then
        compopt -o filenames
        COMPREPLY=($(compgen -d -- "$word"))
      else
        COMPREPLY=($(compgen -W "$words" -- "$word"))
      fi
      ;;
  esac
}
complete -F _culvert culvert
`;
}

function zsh(all: Commands): string {
  return `#compdef culvert
_culvert() {
  local -a commands
  commands=(
${all.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
    'help:${HELP}'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${all.map((each) => `    ${each.name}) _arguments ${zshOptions(each)} ${zshOperand(each)} ;;`).join('\n')}
    help) _describe command commands ;;
  esac
}
compdef _culvert culvert
`;
}

function fish(all: Commands): string {
  const commands = all.map((each) => {
    const { name, summary } = each;
    const seen = `-n '__fish_seen_subcommand_from ${name}'`;
    const words = name === 'share' ? '(__fish_complete_directories)' : wordsOf(each).join(' ');
    return (
      `complete -c culvert -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}\n` +
      offeredOptions(each)
        .map(
          (option) =>
            `complete -c culvert ${seen} -l ${option}${fishValue(option)} -d ${quoted(meaningOf(each, option))}\n`,
        )
        .join('') +
      (words === '' ? '' : `complete -c culvert ${seen} -a ${quoted(words)}\n`)
    );
  });
  return `complete -c culvert -f
${commands.join('')}complete -c culvert -n __fish_use_subcommand -a help -d '${HELP}'
complete -c culvert -n '__fish_seen_subcommand_from help' -a '${namesOf(all).join(' ')}'
`;
}

function powershell(all: Commands): string {
  return `Register-ArgumentCompleter -Native -CommandName culvert -ScriptBlock {
  param($word, $ast, $position)
  $offers = @{
${all.map((each) => `    '${each.name}' = ${list([...wordsOf(each), ...optionWords(each)])}`).join('\n')}
    'help' = ${list(namesOf(all))}
  }
  $words = @($ast.CommandElements | ForEach-Object { $_.ToString() })
  $known = if ($words.Count -gt 1) { $offers[$words[1]] }
  $shown = if ($null -eq $known -or ($words.Count -eq 2 -and $word -ne '')) { $offers.Keys | Sort-Object } else { $known }
  $shown | Where-Object { $_ -like "$word*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`;
}

/** A list of PowerShell. */
function list(words: readonly string[]): string {
  return `@(${words.map((word) => `'${word}'`).join(', ')})`;
}

function namesOf(all: Commands): string[] {
  return all.map(({ name }) => name);
}

function offeredOptions(command: Usage): readonly OptionName[] {
  return [...optionsOf(command), ...ALWAYS];
}

function optionWords(command: Usage): string[] {
  return offeredOptions(command).map((option) => `--${option}`);
}

function optionsThat(isWanted: (name: OptionName) => boolean): string[] {
  return (Object.keys(OPTIONS) as OptionName[]).filter(isWanted).map((name) => `--${name}`);
}

function wordsOf({ words = [] }: Usage): readonly string[] {
  return words;
}

function valueOf(name: OptionName): string | undefined {
  return OPTIONS[name].value;
}

/** Whether the next word is its value; that of `--password` may be missing. */
function takesValue(name: OptionName): boolean {
  return valueOf(name)?.startsWith('[') === false;
}

function zshOptions(command: Usage): string {
  return offeredOptions(command)
    .map((option) => {
      const { multiple } = OPTIONS[option];
      const meaning = meaningOf(command, option).replaceAll(/[[\]:]/g, String.raw`\$&`);
      const value = valueOf(option) === 'FILE' ? ':file:_files' : takesValue(option) ? ':value: ' : '';
      return quoted(`${multiple === true ? '*' : ''}--${option}[${meaning}]${value}`);
    })
    .join(' ');
}

function zshOperand(command: Usage): string {
  if (command.name === 'share') return `'1:folder:_files -/'`;
  const words = wordsOf(command);
  return words.length === 0 ? `'*: : '` : `'1:what:(${words.join(' ')})' '*: : '`;
}

function fishValue(name: OptionName): string {
  if (valueOf(name) === 'FILE') return ' -r -F';
  return takesValue(name) ? ' -x' : '';
}

/** In single quotes, as bash, zsh and fish read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

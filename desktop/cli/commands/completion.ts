/** `culvert completion`: scripts that complete commands and options in shells, from the table of commands. */
import {
  defineCommand,
  type Group,
  meaningOf,
  type Operand,
  optionsOf,
  type Usage,
} from '../command-line/command.ts';
import { commandsOf, isGroup, wordsOf } from '../command-line/help.ts';
import { type OptionName, OPTIONS } from '../command-line/options.ts';

/** Shells that there is a script for. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
type Shell = (typeof SHELLS)[number];

export const completionCommand = defineCommand({
  name: 'completion',
  operands: {
    shell: {
      shown: SHELLS.join('|'),
      words: SHELLS,
      missing: `The shell must be one of ${SHELLS.join(', ')}.`,
    },
  },
  summary: 'Print a completion script for your shell',
  options: {},
  examples: {
    'source <(culvert completion bash)': 'in ~/.bashrc',
    'source <(culvert completion zsh)': 'in ~/.zshrc, after compinit',
    'culvert completion fish | source': 'in ~/.config/fish/config.fish',
    'culvert completion powershell | Out-String | Invoke-Expression': 'in $PROFILE',
  },
  read: ({ operands }) => operands.shell,
  run: async (shell, { commands, output }) => output.out(completionScript(shell, commands)),
});

type Rows = readonly (Usage | Group)[];

/** A script for the shell to read: see "culvert help completion". */
export function completionScript(shell: Shell, rows: Rows): string {
  return SCRIPTS[shell](rows);
}

const SCRIPTS: Readonly<Record<Shell, (rows: Rows) => string>> = { bash, zsh, fish, powershell };

/** Options of every command. */
const ALWAYS: readonly OptionName[] = ['help', 'version'];
const HELP = 'explain a command';

/** What may follow some words. */
interface Place {
  readonly path: string;
  readonly words: readonly string[];
  readonly isFolder: boolean;
  /** with their meanings */
  readonly options: ReadonlyMap<OptionName, string>;
}

/** Those after two words come first. */
function placesOf(rows: Rows): Place[] {
  const groups = rows.filter(isGroup);
  const commands = rows.flatMap(commandsOf).map((command): Place => {
    const [first]: readonly Operand[] = Object.values(command.operands ?? {});
    const { words = [], isFolder = false } = first ?? {};
    return { path: command.name, words, isFolder, options: offeredOptions(command) };
  });
  const places = [
    ...commands,
    ...groups.map((group): Place => {
      const alone = group.commands.find(({ name }) => name === `${group.name} ${group.fallback}`);
      const options = offeredOptions(alone ?? { options: {} });
      return { path: group.name, words: wordsOf(group), isFolder: false, options };
    }),
    ...[
      { name: '', words: namesOf(rows) },
      ...groups.map((group) => ({ ...group, words: wordsOf(group) })),
    ].map(({ name, words }) => ({
      path: `help ${name}`.trimEnd(),
      words,
      isFolder: false,
      options: new Map<OptionName, string>(),
    })),
  ];
  return places.toSorted((a, b) => Number(b.path.includes(' ')) - Number(a.path.includes(' ')));
}

function offeredOptions(command: Pick<Usage, 'options' | 'meanings'>): Place['options'] {
  return new Map([...optionsOf(command), ...ALWAYS].map((name) => [name, meaningOf(command, name)]));
}

function bash(rows: Rows): string {
  return `# culvert completion bash
_culvert() {
  local word=\${COMP_WORDS[COMP_CWORD]} place=\${COMP_WORDS[1]} options= words= folders= IFS=$'\\n'
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${[...namesOf(rows), 'help'].join('\n')}' -- "$word"))
    return
  fi
  case \${COMP_WORDS[COMP_CWORD-1]} in
    ${optionsThat((name) => valueOf(name) === 'FILE').join('|')}) compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")); return ;;
    ${optionsThat((name) => takesValue(name) && valueOf(name) !== 'FILE').join('|')}) return ;;
  esac
  [ "$COMP_CWORD" -eq 2 ] || place="$place \${COMP_WORDS[2]}"
  case $place in
${placesOf(rows).map(bashPlace).join('')}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *)
      if [ -n "$folders" ]; then
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

function bashPlace(place: Place): string {
  const { path, words, isFolder } = place;
  const pattern = path.includes(' ') ? `'${path}'` : `${path}|'${path} '*`;
  return `    ${pattern}) options='${optionWords(place).join('\n')}' words='${words.join('\n')}'${isFolder ? ' folders=1' : ''} ;;\n`;
}

function zsh(rows: Rows): string {
  const places = new Map(placesOf(rows).map((place) => [place.path, place]));
  const inGroup = (group: Group): string =>
    wordsOf(group)
      .map((word) => `        ${word}) ${zshArguments(places.get(`${group.name} ${word}`))} ;;\n`)
      .join('');
  return `#compdef culvert
_culvert() {
  local -a commands
  commands=(
${rows.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
    'help:${HELP}'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${rows
  .map((row) => {
    const own = zshArguments(places.get(row.name));
    if (!isGroup(row)) return `    ${row.name}) ${own} ;;\n`;
    return `    ${row.name})
      if (( CURRENT == 2 )); then
        ${own}
        return
      fi
      shift words
      (( CURRENT-- ))
      case $words[1] in
${inGroup(row)}      esac
      ;;
`;
  })
  .join('')}    help) _describe command commands ;;
  esac
}
compdef _culvert culvert
`;
}

function zshArguments(place: Place | undefined): string {
  if (place === undefined) return '';
  const { options, words, isFolder } = place;
  const given = [...options].map(([option, text]) => {
    const { multiple } = OPTIONS[option];
    const meaning = text.replaceAll(/[[\]:]/g, String.raw`\$&`);
    const value = valueOf(option) === 'FILE' ? ':file:_files' : takesValue(option) ? ':value: ' : '';
    return quoted(`${multiple === true ? '*' : ''}--${option}[${meaning}]${value}`);
  });
  const first = isFolder
    ? [`'1:folder:_files -/'`]
    : words.length === 0
      ? []
      : [`'1:what:(${words.join(' ')})'`];
  return `_arguments ${[...given, ...first, ...(isFolder ? [] : [`'*: : '`])].join(' ')}`;
}

function fish(rows: Rows): string {
  const commands = rows.map(
    ({ name, summary }) => `complete -c culvert -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}\n`,
  );
  const places = placesOf(rows).map(({ path, words, isFolder, options }) => {
    const isCommand = rows.flatMap(commandsOf).some(({ name }) => name === path);
    const seen = `complete -c culvert -n '${isCommand ? '__culvert_in' : '__culvert_at'} ${path}'`;
    const offered = [...options].map(
      ([option, meaning]) => `${seen} -l ${option}${fishValue(option)} -d ${quoted(meaning)}\n`,
    );
    const shown = isFolder ? '(__fish_complete_directories)' : words.join(' ');
    return `${offered.join('')}${shown === '' ? '' : `${seen} -a ${quoted(shown)}\n`}`;
  });
  return `function __culvert_at
  set -l words (commandline -opc)
  test "$words[2..-1]" = "$argv"
end
function __culvert_in
  set -l words (commandline -opc)
  string match -q -- "$argv *" "$words[2..-1] "
end
complete -c culvert -f
${commands.join('')}complete -c culvert -n __fish_use_subcommand -a help -d '${HELP}'
${places.join('')}`;
}

function powershell(rows: Rows): string {
  return `Register-ArgumentCompleter -Native -CommandName culvert -ScriptBlock {
  param($word, $ast, $position)
  $offers = @{
${placesOf(rows)
  .map((place) => `    '${place.path}' = ${list([...place.words, ...optionWords(place)])}\n`)
  .join('')}  }
  $typed = @($ast.CommandElements | ForEach-Object { $_.ToString() })
  if ($word -ne '') { $typed = @($typed | Select-Object -SkipLast 1) }
  $place = @($typed | Select-Object -Skip 1 -First 2) -join ' '
  if (-not $offers.ContainsKey($place)) { $place = "$($typed[1])" }
  $shown = if ($typed.Count -lt 2) { $offers.Keys | Where-Object { $_ -notlike '* *' } | Sort-Object } else { $offers[$place] }
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

function namesOf(rows: Rows): string[] {
  return rows.map(({ name }) => name);
}

function optionWords({ options }: Place): string[] {
  return [...options.keys()].map((option) => `--${option}`);
}

function optionsThat(isWanted: (name: OptionName) => boolean): string[] {
  return (Object.keys(OPTIONS) as OptionName[]).filter(isWanted).map((name) => `--${name}`);
}

function valueOf(name: OptionName): string | undefined {
  return OPTIONS[name].value;
}

/** Whether the next word is its value; that of `--password` may be missing. */
function takesValue(name: OptionName): boolean {
  return valueOf(name)?.startsWith('[') === false;
}

function fishValue(name: OptionName): string {
  if (valueOf(name) === 'FILE') return ' -r -F';
  return takesValue(name) ? ' -x' : '';
}

/** In single quotes, as bash, zsh and fish read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

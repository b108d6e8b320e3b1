/** Completion of `culvert` in shells, from the tables that the help and the reader use. */
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  OPTIONS,
  type OptionName,
  type Shell,
} from './options.ts';

/** Options of every command. */
const ALWAYS: readonly OptionName[] = ['help', 'version'];
const HELP = 'explain a command';
const WORDS = [...COMMAND_NAMES, 'help'];

/** A script that the shell reads: "culvert help completion" says how. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell]();
}

const SCRIPTS: Readonly<Record<Shell, () => string>> = { bash, zsh, fish, powershell };

function bash(): string {
  return `# culvert completion bash
_culvert() {
  local word=\${COMP_WORDS[COMP_CWORD]} options= words= IFS=$'\\n'
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${WORDS.join('\n')}' -- "$word"))
    return
  fi
  case \${COMP_WORDS[COMP_CWORD-1]} in
    ${optionsThat((name) => valueOf(name) === 'FILE').join('|')}) compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")); return ;;
    ${optionsThat((name) => takesValue(name) && valueOf(name) !== 'FILE').join('|')}) return ;;
  esac
  case \${COMP_WORDS[1]} in
${COMMAND_NAMES.map((name) => `    ${name}) options='${optionWords(name).join('\n')}' words='${wordsOf(name).join('\n')}' ;;`).join('\n')}
    help) words='${COMMAND_NAMES.join('\n')}' ;;
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

function zsh(): string {
  return `#compdef culvert
_culvert() {
  local -a commands
  commands=(
${COMMAND_NAMES.map((name) => `    ${quoted(`${name}:${COMMANDS[name].summary}`)}`).join('\n')}
    'help:${HELP}'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${COMMAND_NAMES.map((name) => `    ${name}) _arguments ${zshOptions(name)} ${zshOperand(name)} ;;`).join('\n')}
    help) _describe command commands ;;
  esac
}
compdef _culvert culvert
`;
}

function fish(): string {
  const commands = COMMAND_NAMES.map((name) => {
    const seen = `-n '__fish_seen_subcommand_from ${name}'`;
    const words = name === 'share' ? '(__fish_complete_directories)' : wordsOf(name).join(' ');
    return (
      `complete -c culvert -n __fish_use_subcommand -a ${name} -d ${quoted(COMMANDS[name].summary)}\n` +
      optionsOf(name)
        .map(
          (option) =>
            `complete -c culvert ${seen} -l ${option}${fishValue(option)} -d ${quoted(OPTIONS[option].text)}\n`,
        )
        .join('') +
      (words === '' ? '' : `complete -c culvert ${seen} -a ${quoted(words)}\n`)
    );
  });
  return `complete -c culvert -f
${commands.join('')}complete -c culvert -n __fish_use_subcommand -a help -d '${HELP}'
complete -c culvert -n '__fish_seen_subcommand_from help' -a '${COMMAND_NAMES.join(' ')}'
`;
}

function powershell(): string {
  return `Register-ArgumentCompleter -Native -CommandName culvert -ScriptBlock {
  param($word, $ast, $position)
  $offers = @{
${COMMAND_NAMES.map((name) => `    '${name}' = ${list([...wordsOf(name), ...optionWords(name)])}`).join('\n')}
    'help' = ${list(COMMAND_NAMES)}
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

function optionsOf(name: CommandName): readonly OptionName[] {
  return [...COMMANDS[name].options, ...ALWAYS];
}

function optionWords(name: CommandName): string[] {
  return optionsOf(name).map((option) => `--${option}`);
}

function optionsThat(isWanted: (name: OptionName) => boolean): string[] {
  return (Object.keys(OPTIONS) as OptionName[]).filter(isWanted).map((name) => `--${name}`);
}

function wordsOf(name: CommandName): readonly string[] {
  return COMMANDS[name].words ?? [];
}

function valueOf(name: OptionName): string | undefined {
  return OPTIONS[name].value;
}

/** Whether the next word is its value; that of `--password` may be missing. */
function takesValue(name: OptionName): boolean {
  return valueOf(name)?.startsWith('[') === false;
}

function zshOptions(name: CommandName): string {
  return optionsOf(name)
    .map((option) => {
      const { multiple, text } = OPTIONS[option];
      const meaning = text.replaceAll(/[[\]:]/g, String.raw`\$&`);
      const value = valueOf(option) === 'FILE' ? ':file:_files' : takesValue(option) ? ':value: ' : '';
      return quoted(`${multiple === true ? '*' : ''}--${option}[${meaning}]${value}`);
    })
    .join(' ');
}

function zshOperand(name: CommandName): string {
  if (name === 'share') return `'1:folder:_files -/'`;
  const words = wordsOf(name);
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

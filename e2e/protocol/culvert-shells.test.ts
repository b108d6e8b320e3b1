/** The scripts of `culvert completion` in their shells, and the manual page in the programs that show it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CULVERT_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const run = promisify(execFile);

/**
 * A zsh on its own pseudo-terminal; the test presses Tab in it. It prints its completions: our `compadd` records them
 * and calls the real one.
 */
const ASK_ZSH = String.raw`
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $1"
while zpty -r shell line; do [[ $line == *ready* ]] && break; done
zpty -w shell "$2"$'\t'
while zpty -r shell line; do
  [[ $line == *'<end>'* ]] && break
  print -r -- "$line"
done
`;
const ZSH_SETUP = String.raw`
PROMPT=
autoload compinit
compinit -u -D
zstyle ':completion:*' insert-tab false
compadd () {
  if [[ $@[1,(i)(-|--)] == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  typeset -a hits
  builtin compadd -A hits "$@"
  for hit in $hits; do print -r -- "<offer>$hit<"; done
}
finish () { print '<end>' }
comppostfuncs=(finish)
bindkey '^I' complete-word
`;

const culvert = async (...args: string[]): Promise<string> =>
  (await run(process.execPath, [CULVERT_SCRIPT, ...args])).stdout;

describe('culvert in a shell', () => {
  const scope = suiteScope();
  let folder: string;

  before(async () => {
    folder = temporaryDirectory(scope);
    mkdirSync(join(folder, 'public'));
    writeFileSync(join(folder, 'culvert.yml'), '');
    for (const shell of ['bash', 'zsh', 'fish'])
      writeFileSync(join(folder, shell), await culvert('completion', shell));
    writeFileSync(join(folder, 'setup'), `${ZSH_SETUP}source ${join(folder, 'zsh')}\nprint ready\n`);
    writeFileSync(join(folder, 'ask'), ASK_ZSH);
  });

  const inFolder = async (program: string, ...args: string[]): Promise<string> =>
    (await run(program, args, { cwd: folder, timeout: 60_000 })).stdout;

  const shells: Record<string, (line: string) => Promise<string[]>> = {
    async bash(line) {
      const words = line.split(' ');
      const ask = `compopt() { :; }; source ./bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _culvert; printf '%s\n' "\${COMPREPLY[@]}"`;
      return (await inFolder('bash', '-c', ask)).split('\n').filter(Boolean);
    },
    async zsh(line) {
      const text = await inFolder('zsh', '-f', 'ask', join(folder, 'setup'), line);
      // The shell completes again for alternative meanings of a word.
      return [...new Set([...text.matchAll(/<offer>([^<]*)</g)].map(([, word = '']) => word))];
    },
    async fish(line) {
      const text = await inFolder('fish', '--no-config', '-c', 'source ./fish; complete -C $argv[1]', line);
      return text
        .split('\n')
        .filter(Boolean)
        .map((offer) => offer.split('\t', 1)[0] ?? '');
    },
  };

  for (const [shell, offers] of Object.entries(shells)) {
    it(`${shell} offers commands, options, values, folders and files in the right places`, async () => {
      assert.deepEqual((await offers('culvert lo')).toSorted(), ['login', 'logout']);
      assert.deepEqual(await offers('culvert http --na'), ['--name']);
      assert.deepEqual(await offers('culvert list --na'), []);
      assert.deepEqual((await offers('culvert domain ')).filter((word) => !word.startsWith('-')).toSorted(), [
        'add',
        'list',
        'remove',
        'verify',
      ]);
      assert.deepEqual(await offers('culvert team invite --tt'), ['--ttl']);
      assert.deepEqual(await offers('culvert team list --tt'), []);
      assert.deepEqual(await offers('culvert help ext'), ['extend']);
      assert.deepEqual(
        (await offers('culvert share p')).map((name) => name.replace(/\/$/, '')),
        ['public'],
      );
      assert.deepEqual(await offers('culvert start --config culv'), ['culvert.yml']);
      assert.deepEqual(await offers('culvert http --relay culv'), []);
    });
  }

  it('has a manual page without a warning', async () => {
    const page = join(folder, 'culvert.1');
    writeFileSync(page, await culvert('man'));
    assert.equal(await inFolder('mandoc', '-T', 'lint', '-W', 'warning', page), '');
    const { stdout, stderr } = await run('man', ['--warnings', '-l', page], {
      env: { ...process.env, MANWIDTH: '80' },
    });
    assert.equal(stderr, '');
    assert.match(stdout, /^ +culvert - exposes a local port on the internet/m);
    assert.match(stdout, /^ +--host-header MODE$/m);
  });
});

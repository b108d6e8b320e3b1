import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { optionsOf } from '../command-line/command.ts';
import { COMMANDS } from './commands.ts';
import { commandsOf } from '../command-line/help.ts';
import { completionScript, SHELLS } from './completion.ts';
import { manualPage } from './man.ts';
import { OPTION_NAMES } from '../command-line/options.ts';

const offers = (...words: string[]): string[] => {
  const typed = words.map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _culvert; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', `${completionScript('bash', COMMANDS)}\n${ask}`], {
    encoding: 'utf8',
  });
  return output.split('\n').filter(Boolean);
};

describe('completion', () => {
  for (const shell of SHELLS) {
    it(`of ${shell} knows every command with its options`, () => {
      const script = completionScript(shell, COMMANDS);
      for (const command of COMMANDS.flatMap(commandsOf)) {
        assert.ok(script.includes(command.name.split(' ').at(-1) ?? ''), command.name);
        for (const option of optionsOf(command)) assert.ok(script.includes(option), option);
      }
    });
  }

  it('of bash offers matching words', () => {
    assert.deepEqual(offers('culvert', 'lo'), ['login', 'logout']);
    assert.deepEqual(offers('culvert', 'http', '--na'), ['--name']);
    assert.deepEqual(offers('culvert', 'list', '--na'), []);
    assert.deepEqual(offers('culvert', 'completion', ''), [...SHELLS]);
    assert.deepEqual(offers('culvert', 'help', 'ext'), ['extend']);
    assert.deepEqual(offers('culvert', 'http', '--name', ''), []);
    assert.deepEqual(offers('culvert', 'team', ''), ['list', 'invite', 'revoke', 'audit']);
    assert.deepEqual(offers('culvert', 'team', '--tt'), []);
    assert.deepEqual(offers('culvert', 'team', 'invite', '--tt'), ['--ttl']);
    assert.deepEqual(offers('culvert', 'team', 'invite', ''), []);
    assert.deepEqual(offers('culvert', 'help', 'team', 're'), ['revoke']);
  });
});

describe('the manual page', () => {
  it('has every command and every option', () => {
    const page = manualPage(COMMANDS, new Date(0)).replaceAll(String.raw`\-`, '-');
    for (const { name } of COMMANDS.flatMap(commandsOf)) assert.ok(page.includes(`.B ${name}`), name);
    for (const name of OPTION_NAMES) assert.ok(page.includes(`--${name}`), name);
    assert.doesNotMatch(manualPage(COMMANDS, new Date(0)), /^\.(?!TH|SH|TP|B|I|RI)/m);
  });
});

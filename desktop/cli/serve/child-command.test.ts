import assert from 'node:assert/strict';
import { onPosix } from '../../../shared/testing/posix.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ChildCommand, exitCodeFor, startedWith } from './child-command.ts';

/** Runs a script of Node. */
function start(script: string) {
  const clock = new FakeClock();
  const said: string[] = [];
  const child = new ChildCommand({
    command: [process.execPath, '-e', script],
    env: process.env,
    clock,
    say: (text) => said.push(text),
  });
  return { child, clock, said };
}

describe('ChildCommand', () => {
  it('reports the exit code of the command', async () => {
    assert.equal(await start('process.exit(7)').child.ended, 7);
  });

  onPosix(
    'reports 127 for a command that does not exist, and 126 for one that is not executable',
    async () => {
      const said: string[] = [];
      const code = (program: string): Promise<number> =>
        new ChildCommand({
          command: [program],
          env: process.env,
          clock: new FakeClock(),
          say: (text) => said.push(text),
        }).ended;
      assert.equal(await code('culvert-no-such-command'), 127);
      assert.equal(await code('/etc/passwd'), 126);
      assert.match(
        said.join('\n'),
        /^The command "culvert-no-such-command" was not found\.\nThe command "\/etc\/passwd" could not/,
      );
    },
  );

  onPosix('reports 128 and the number of the signal that ended it', async () => {
    const { child } = start('setInterval(() => {}, 1000)');
    child.pass('SIGINT');
    assert.equal(await child.ended, 130);
    assert.equal(exitCodeFor(null, 'SIGTERM'), 143);
  });

  onPosix('does not keep a timer for a command that ends', async () => {
    const { child, clock } = start('setInterval(() => {}, 1000)');
    child.pass('SIGTERM');
    assert.equal(await child.ended, 143);
    await Promise.resolve();
    assert.deepEqual(clock.waiting, []);
  });
});

describe('startedWith', () => {
  it('starts the program itself on POSIX', () => {
    assert.deepEqual(startedWith(['npm', 'run', 'dev'], 'linux'), {
      file: 'npm',
      args: ['run', 'dev'],
      isVerbatim: false,
    });
  });

  it('leaves it to cmd.exe on Windows to find a script, and escapes what that would read', () => {
    const { file, args, isVerbatim } = startedWith(
      ['npm', 'run', 'a b', '%PATH%&calc', 'C:\\dir\\', 'say "hi"'],
      'win32',
    );
    assert.deepEqual([file, isVerbatim, ...args.slice(0, 3)], ['cmd.exe', true, '/d', '/s', '/c']);
    assert.equal(
      args[3],
      '"^"npm^" ^"run^" ^"a^ b^" ^"^%PATH^%^&calc^" ^"C:\\dir\\\\^" ^"say^ \\^"hi\\^"^""',
    );
  });
});

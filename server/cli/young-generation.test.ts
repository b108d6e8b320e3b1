import assert from 'node:assert/strict';
import { limitYoungGeneration, type RestartableProcess } from './young-generation.ts';

/** A process that records how it was restarted. */
function program(changes: Partial<RestartableProcess> = {}) {
  const restarts: (readonly string[])[] = [];
  const execve = (file: string, args: readonly string[] = []): never => {
    restarts.push([file, ...args]);
    return undefined as never;
  };
  const argv = ['/bin/node', '/cli.js', 'serve', '--port', '80'];
  const given = {
    argv,
    env: {},
    execArgv: ['--no-warnings'],
    execPath: '/bin/node',
    platform: 'linux' as const,
  };
  return { restarts, ...given, execve, ...changes };
}

describe('limitYoungGeneration', () => {
  it('restarts the program with the limit, and everything else as it was', () => {
    const started = program();
    limitYoungGeneration(started);
    assert.deepEqual(started.restarts, [
      [
        '/bin/node',
        '/bin/node',
        '--max-semi-space-size=4',
        '--no-warnings',
        '/cli.js',
        'serve',
        '--port',
        '80',
      ],
    ]);
  });

  const alone: Readonly<Record<string, Partial<RestartableProcess>>> = {
    'that has been restarted': { execArgv: ['--max-semi-space-size=4'] },
    'on Windows': { platform: 'win32' },
    'whose operator has chosen': { env: { NODE_OPTIONS: '--max-semi-space-size=16' } },
  };
  for (const [which, changes] of Object.entries(alone)) {
    it(`leaves a program alone ${which}`, () => {
      const started = program(changes);
      limitYoungGeneration(started);
      assert.deepEqual(started.restarts, []);
    });
  }

  it('continues if the process cannot be restarted in place', () => {
    const { execve: _, ...rest } = program();
    assert.doesNotThrow(() => limitYoungGeneration(rest));
  });
});

import assert from 'node:assert/strict';
import { UsageError } from '../../client/failures.ts';
import { NO_FILES } from '../../testing/command-context.ts';
import { readArguments } from './commands.ts';

const ENV = { CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };

function boundsOf(...args: string[]) {
  const command = readArguments(['mcp', ...args], ENV, NO_FILES);
  assert.ok(command.name === 'mcp' && 'bounds' in command.given);
  return command.given.bounds;
}

describe('culvert mcp', () => {
  it('reads bounds', () => {
    const free = { ports: undefined, maxTtl: undefined, requireAccess: false, allowTcp: false, ask: false };
    assert.deepEqual(boundsOf(), free);
    const all = boundsOf(
      '--ports',
      '3000-3999, 8080',
      '--max-ttl',
      '1h',
      '--require-access',
      '--allow-tcp',
      '--ask',
    );
    const ports = [
      { from: 3000, to: 3999 },
      { from: 8080, to: 8080 },
    ];
    assert.deepEqual(all, { ports, maxTtl: 3600, requireAccess: true, allowTcp: true, ask: true });
  });

  it('starts without a login, to tell its client', () => {
    const { name, given } = readArguments(['mcp'], {}, NO_FILES);
    assert.ok(name === 'mcp' && 'failure' in given);
    assert.match(given.failure.message, /No relay is set up yet/);
  });

  it('refuses bounds that it does not understand', () => {
    for (const ports of ['', 'x', '3999-3000', '0-10', '1-65536', '3000-', '-3000', '1-2-3', '3000,,', '3e3'])
      assert.throws(
        () => boundsOf(`--ports=${ports}`),
        (error) => error instanceof UsageError && error.message.includes('3000-3999,8080'),
        ports,
      );
    for (const ttl of ['', '0s', '1', 'forever', '-1h'])
      assert.throws(() => boundsOf(`--max-ttl=${ttl}`), UsageError, ttl);
    assert.throws(() => boundsOf('3000'), /Unexpected argument "3000"/);
    assert.throws(() => boundsOf('--json'), /has no option --json/);
  });
});

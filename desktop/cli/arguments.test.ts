import assert from 'node:assert/strict';
import { parseRelayAddress } from '../engine/relay-address.ts';
import { type Command, readArguments, UsageError } from './arguments.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
const ENV = { CULVERT_API_KEY: KEY };

/** Words as typed in a shell, without quotes. */
const read = (line: string, env: Record<string, string> = ENV): Command =>
  readArguments(line.split(' ').filter(Boolean), env);

function refusal(line: string, env: Record<string, string> = ENV): UsageError {
  try {
    read(line, env);
  } catch (error) {
    assert.ok(error instanceof UsageError);
    return error;
  }
  return assert.fail(`"${line}" was not refused`);
}

describe('readArguments', () => {
  const access = { relay: parseRelayAddress('http://localhost:8080'), key: KEY, json: false };

  it('reads the shortest command', () => {
    const none = { name: undefined, ttl: undefined, idle: false };
    assert.deepEqual(read('http 3000'), { command: 'http', port: 3000, ...none, ...access });
  });

  it('reads every option, in any place', () => {
    assert.deepEqual(
      read(`--json http --name my-app 3000 --ttl 1h30m --idle --relay https://r.example/v1 --key ${KEY}`, {}),
      {
        command: 'http',
        port: 3000,
        name: 'my-app',
        ttl: '1h30m',
        idle: true,
        relay: parseRelayAddress('https://r.example'),
        key: KEY,
        json: true,
      },
    );
  });

  it('reads list, close and extend', () => {
    assert.deepEqual(read('list'), { command: 'list', ...access });
    assert.deepEqual(read('close my-app'), { command: 'close', tunnel: 'my-app', ...access });
    assert.deepEqual(read('extend my-app --ttl 4h'), {
      command: 'extend',
      tunnel: 'my-app',
      ttl: '4h',
      ...access,
    });
  });

  it('takes the relay and the key from the environment, where no option gives them', () => {
    const env = { CULVERT_RELAY: 'http://env.example', CULVERT_API_KEY: KEY };
    const other = `cvt_${'o'.repeat(32)}`;
    const fromEnvironment = read('list', env);
    const fromOptions = read(`list --relay http://option.example --key ${other}`, env);
    assert.ok(fromEnvironment.command === 'list' && fromOptions.command === 'list');
    assert.equal(fromEnvironment.relay.hostname, 'env.example');
    assert.equal(fromOptions.relay.hostname, 'option.example');
    assert.equal(fromOptions.key, other);
  });

  it('takes an empty variable as not set', () => {
    const command = read('list', { CULVERT_RELAY: '', CULVERT_API_KEY: KEY });
    assert.ok(command.command === 'list');
    assert.equal(command.relay.origin, 'http://localhost:8080');
    assert.match(refusal('list', { CULVERT_API_KEY: '' }).message, /No API key/);
  });

  it('needs neither a relay nor a key for --help and --version', () => {
    for (const line of ['--help', '-h', 'help', 'http --help'])
      assert.deepEqual(read(line, {}), { command: 'help' });
    assert.deepEqual(read('--version', {}), { command: 'version' });
  });

  const refused: [string, RegExp][] = [
    ['', /http, list, close or extend/],
    ['serve', /no command "serve"/],
    ['http', /PORT is missing.* from 1 to 65535/],
    ['http 0', /PORT "0".* from 1 to 65535/],
    ['http 65536', /PORT "65536"/],
    ['http 3000.5', /PORT "3000.5"/],
    ['http localhost:3000', /PORT "localhost:3000"/],
    ['http 3000 4000', /"4000" is more than/],
    ['http 3000 --name A', /--name "A".* 2 to 63 lowercase letters/],
    ['http 3000 --ttl 1d', /--ttl "1d".* 30m/],
    ['http 3000 --ttl 0.5s', /at least 1s/],
    ['http 3000 --relay localhost:8080', /--relay or CULVERT_RELAY: .* http:\/\/ or https:\/\//],
    ['http 3000 --port 1', /'--port'/],
    ['http 3000 --name', /--name/],
    ['list x', /"x" is more than/],
    ['list --idle', /takes no --idle/],
    ['close', /which tunnel to close/],
    ['close a --ttl 1h', /takes no --ttl/],
    ['extend a --name b', /takes no --name/],
  ];
  for (const [line, message] of refused) {
    it(`refuses "${line}" with exit code 2`, () => {
      const error = refusal(line);
      assert.match(error.message, message);
      assert.equal(error.exitCode, 2);
    });
  }

  it('refuses a damaged key as the relay would', () => {
    for (const key of ['cvt_short', 'other', `${KEY}!`]) {
      const error = refusal('list', { CULVERT_API_KEY: key });
      assert.equal(error.exitCode, 3);
      assert.ok(!error.message.includes(key), 'a key belongs into no log');
    }
  });
});

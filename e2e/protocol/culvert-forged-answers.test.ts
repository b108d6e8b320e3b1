/**
 * `culvert` behind a proxy that returns responses which are not the relay's, like one that mixes up its connections.
 */
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { createAccount } from '../support/accounts.ts';
import { type Relay, spawnCulvert } from '../support/programs.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';

const answer = (status: string, error: string, code: string): string => {
  const body = JSON.stringify({ error, code });
  return `HTTP/1.1 ${status}\r\nWWW-Authenticate: Bearer\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
};
const INVALID_KEY = answer('401 Unauthorized', 'invalid api key', 'invalid-key');
const NOT_FOUND = answer('404 Not Found', 'tunnel not found', 'tunnel-not-found');

describe('culvert and forged responses', () => {
  const scope = suiteScope();
  let relay: Relay;
  let url: string;
  /** responses that replace the relay's for the next requests that begin with `start` */
  const forged: { start: string; answers: string[] } = { start: '', answers: [] };

  before(async () => {
    relay = await sharedRelay();
    const proxy = createServer((client) => {
      client.on('error', () => client.destroy());
      client.once('data', (first) => {
        const isMeant = first.toString('latin1').startsWith(forged.start);
        const instead = isMeant ? forged.answers.shift() : undefined;
        if (instead !== undefined) return void client.end(instead);
        const upstream = connect(relay.port, '127.0.0.1');
        upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
        client.on('close', () => upstream.destroy());
        upstream.write(first);
        client.pipe(upstream).pipe(client);
      });
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    scope.defer(() => void proxy.close());
    const address = proxy.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  });

  const cases: [string, string[]][] = [
    ['a 401', [INVALID_KEY]],
    ['a 401 and a 404', [INVALID_KEY, NOT_FOUND]],
  ];
  for (const [name, answers] of cases) {
    it(`continues to serve after ${name} in response to the handshake of its control socket`, async () => {
      const { key } = await createAccount(relay);
      forged.start = 'GET /ws/control';
      forged.answers = [...answers];
      const child = spawnCulvert(scope, ['http', '1', '--json'], {
        CULVERT_RELAY: url,
        CULVERT_API_KEY: key,
      });
      const last = await child.line((line) => /"event":"(online|offline)"/.exec(line)?.[1]);
      assert.deepEqual([last, forged.answers], ['online', []]);
      assert.equal((await child.stop('SIGINT')).code, 0);
    });
  }

  it('ends after two identical refusals', async () => {
    const { key } = await createAccount(relay);
    forged.start = 'GET /ws/control';
    forged.answers = [INVALID_KEY, INVALID_KEY];
    const child = spawnCulvert(scope, ['http', '1', '--json'], { CULVERT_RELAY: url, CULVERT_API_KEY: key });
    assert.equal((await child.exit()).code, 3);
  });

  it('does not treat a key as refused after a single refusal', async () => {
    const { key } = await createAccount(relay);
    forged.start = 'GET /v1/account';
    forged.answers = [INVALID_KEY];
    const child = spawnCulvert(scope, ['login', '--relay', url, '--key', key], {});
    assert.equal((await child.exit()).code, 1);
    assert.match(child.stderr, /rejected the key once, but accepted it on the second try/);
    forged.start = 'GET /v1';
    forged.answers = [INVALID_KEY, INVALID_KEY];
    const refused = spawnCulvert(scope, ['login', '--relay', url, '--key', key], {});
    assert.equal((await refused.exit()).code, 3);
  });
});

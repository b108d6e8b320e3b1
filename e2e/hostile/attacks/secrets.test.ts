import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../../support/accounts.ts';
import { metricsOf, WITH_METRICS } from '../../support/memory.ts';
import { Culvert, newApiKey, Relay, spawnCulvert } from '../../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../../support/raw-http.ts';
import { suiteScope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';

/** Characters of a key that identify it. Commands show the first 8 on purpose. */
const PART = 12;

/** Heads that the relay refuses, and one that it accepts, with a secret wherever there is room for one. */
function requests(secret: string, host: string): Buffer[] {
  const head = `GET /v1/tunnels HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${secret}\r\n`;
  return [
    formatRequest({ host, target: '/v1/account', headers: [['Authorization', `Bearer ${secret}`]] }),
    ...[`Content-Length: x`, ` ${secret}: folded`, `X\0: ${secret}`, `Host: ${secret}`].map((line) =>
      Buffer.from(`${head}${line}\r\n\r\n`),
    ),
    Buffer.from(`${head}X: ${secret.repeat(1000)}\r\n\r\n`),
    ...['/invite/', '/Invite/', '//invite/', '/%69nvite/', '/invite%2f', '/x/../invite/', '/v1/invites/'].map(
      (path) => Buffer.from(`POST ${path}${secret} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`),
    ),
    Buffer.from(`GET /invite/${secret} HTTP/3.0\r\nHost: ${host}\r\n\r\n`),
  ];
}

describe('API keys and invitation tokens', () => {
  const scope = suiteScope();

  it('are in no response, log, metric or file, whatever is sent and whatever fails', async () => {
    const settings = { CULVERT_LOG_LEVEL: 'debug', CULVERT_ACCESS_LOG: 'stderr', ...WITH_METRICS };
    const relay = await Relay.start(scope, settings);
    const { key } = await createAccount(relay);
    const secrets = [relay.bootstrapKey, key, newApiKey(), randomBytes(24).toString('base64url')];
    const shown: Record<string, string> = {};
    const culvert = await Culvert.start(scope, relay, '', await closedPort(), ['--key', key]);

    const use = async (bytes: Buffer): Promise<string> => {
      const { socket } = await RawConnection.open(scope, relay.port);
      let heard = '';
      socket.on('data', (piece: Buffer) => (heard += piece.toString('latin1')));
      socket.end(bytes);
      await once(socket, 'close');
      return heard;
    };
    const useAll = async (): Promise<string> => {
      const all = secrets.flatMap((secret) => requests(secret, `localhost:${relay.port}`));
      return (await Promise.all(all.map(use))).join('\n');
    };
    shown['responses'] = await useAll();
    const folder = relay.dataDirectory;
    for (const name of readdirSync(folder).filter((each) => each.startsWith('culvert.db')))
      shown[name] = readFileSync(join(folder, name), 'latin1');
    renameSync(join(folder, 'culvert.db'), join(folder, 'culvert.away'));
    shown['responses without a store'] = await useAll();
    assert.equal((await visit(relay.port, { host: 'localhost', target: '/healthz' })).status, 200);
    shown['metrics'] = [...(await metricsOf(relay)).keys()].join('\n');
    for (const args of [['list'], ['http', '1', '--json'], ['close', 'nobody', '--no-such-flag']])
      for (const wrong of [secrets[2] ?? '', `${key}\u00e9`]) {
        const child = spawnCulvert(scope, args, { CULVERT_RELAY: relay.url, CULVERT_API_KEY: wrong });
        assert.notEqual((await child.exit(30_000)).code, 0);
        shown[`${args.join(' ')} with a wrong key`] = child.output;
      }
    await culvert.stop();
    await relay.stop('SIGKILL');
    shown['the client'] = culvert.child.output;
    shown['the relay'] = relay.child.stderr;

    assert.ok((shown['the relay']?.length ?? 0) > 10_000, 'the log is detailed');
    for (const [where, text] of Object.entries(shown))
      for (const secret of secrets)
        for (const part of [secret.slice(0, PART), secret.slice(PART, 2 * PART), secret.slice(-PART)])
          assert.ok(!text.includes(part), `${where}: ${text.slice(text.indexOf(part) - 200).slice(0, 400)}`);
  });
});

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import type { Child, Exit } from '../support/child.ts';
import { concurrentTests } from '../support/scope.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, newApiKey, Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { closedPort, type HttpService } from '../support/services/listen.ts';
import { ControlSocket } from '../support/spec-client/client.ts';

describe('culvert', () => {
  const { scope, relay, pool } = sharedRelaySuite();
  let service: HttpService;

  before(async () => {
    service = await startEchoService(scope);
  });

  /** Runs the program until it exits. */
  async function run(
    args: readonly string[],
    key: string,
    url = relay.url,
  ): Promise<Child & { result: Exit }> {
    const child = spawnCulvert(scope, args, { CULVERT_RELAY: url, CULVERT_API_KEY: key });
    return Object.assign(child, { result: await child.exit() });
  }

  describe('http', () => {
    const together = concurrentTests();

    together('is online with its first event, which contains the tunnel, and serves', async () => {
      const { key, api } = await pool.take();
      const culvert = await Culvert.start(scope, relay, key, service.port);
      assert.deepEqual(await api.get(culvert.tunnel.id), culvert.tunnel);
      assert.equal(culvert.tunnel.local_port, service.port);
      const answer = await visit(relay.port, { host: hostOf(culvert.tunnel, relay), target: '/x' });
      assert.equal(readEcho(answer).url, '/x');
    });

    together('requests the tunnel with the given options', async () => {
      const { key } = await pool.take();
      const args = ['--name', 'told-so', '--ttl', '90m', '--idle'];
      const { tunnel } = await Culvert.start(scope, relay, key, service.port, args);
      assert.deepEqual([tunnel.name, tunnel.ttl, tunnel.idle_ttl], ['told-so', '1h30m0s', true]);
    });

    together('accepts relay and key as flags, and the address with /v1', async () => {
      const { key } = await pool.take();
      const elsewhere = { url: 'http://127.0.0.1:9' };
      const args = ['--relay', `${relay.url}/v1`, '--key', key];
      const { tunnel } = await Culvert.start(scope, elsewhere, newApiKey(), service.port, args);
      assert.equal(tunnel.local_port, service.port);
    });

    together('removes a key given by a flag from the process list', async () => {
      const { key } = await pool.take();
      const args = [`--key=${key}`];
      const { child } = await Culvert.start(scope, relay, newApiKey(), service.port, args);
      assert.ok(!readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').includes(key));
    });

    together('sends the service the configured Host', async () => {
      for (const [mode, host] of [
        ['keep', undefined],
        ['local', `localhost:${service.port}`],
        ['app.test:81', 'app.test:81'],
      ] as const) {
        const { key } = await pool.take();
        const culvert = await Culvert.start(scope, relay, key, service.port, ['--host-header', mode]);
        const sent = hostOf(culvert.tunnel, relay);
        const { rawHeaders } = readEcho(await visit(relay.port, { host: sent, target: '/' }));
        assert.equal(rawHeaders[rawHeaders.indexOf('Host') + 1], host ?? sent);
      }
    });

    together('lets visitors wait for a service that starts to listen soon', async () => {
      const { key } = await pool.take();
      const port = await closedPort();
      const culvert = await Culvert.start(scope, relay, key, port, ['--wait', '10']);
      const answer = visit(relay.port, { host: hostOf(culvert.tunnel, relay), target: '/late' });
      const late = createServer((_request, response) => response.end('here now'));
      scope.defer(() => late.close());
      // By then the dial has been refused: a visitor reaches the port within a few ms.
      setTimeout(() => late.listen(port, '127.0.0.1'), 500);
      assert.equal((await answer).text, 'here now');
    });

    together('prints the address for people', async () => {
      const { key } = await pool.take();
      const child = spawnCulvert(scope, ['http', String(service.port), '--name', 'for-people'], {
        CULVERT_RELAY: relay.url,
        CULVERT_API_KEY: key,
      });
      await child.line((line) =>
        line.includes(`http://for-people.localhost:${relay.port}`) ? line : undefined,
      );
      assert.equal((await child.stop('SIGINT')).code, 0);
    });

    together(
      'shows the QR code beside machine-readable output, and reports that it cannot copy here',
      async () => {
        const { key } = await pool.take();
        const args = ['--qr', '--copy'];
        const { child, tunnel } = await Culvert.start(scope, relay, key, service.port, args);
        await child.stop('SIGINT');
        assert.match(child.stderr, /^[█▀▄ \n]+\nhttp:\S+\nculvert: --copy: \S+ cannot be copied/);
        assert.ok(child.stderr.includes(tunnel.public_url));
      },
    );

    together("opens the address with the system's opener, and reports if there is none", async () => {
      const { key } = await pool.take();
      const folder = temporaryDirectory(scope);
      const file = join(folder, 'opened');
      writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" >${file}\nexit 3\n`, { mode: 0o755 });
      const path = `${folder}:${process.env['PATH'] ?? ''}`;
      const { child, tunnel } = await Culvert.start(scope, relay, key, service.port, ['--open'], {
        PATH: path,
      });
      const why = `culvert: --open: xdg-open found no browser to open ${tunnel.public_url}.\n`;
      await eventually(10_000, () => assert.equal(child.stderr, why));
      assert.equal(readFileSync(file, 'utf8'), `${tunnel.public_url}\n`);
      assert.equal((await child.stop('SIGINT')).code, 0);
    });

    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      together(`closes the tunnel and exits 0 at ${signal}`, async () => {
        const { key, api } = await pool.take();
        const culvert = await Culvert.start(scope, relay, key, service.port);
        assert.deepEqual(await culvert.child.stop(signal), { code: 0, signal: null });
        assert.equal((await api.send('GET', `/v1/tunnels/${culvert.tunnel.id}`)).status, 404);
      });
    }

    together('exits 4 when the tunnel is closed through the API', async () => {
      const { key, api } = await pool.take();
      const culvert = await Culvert.start(scope, relay, key, service.port);
      await api.close(culvert.tunnel.id);
      assert.equal((await culvert.child.exit()).code, 4);
    });

    together('exits 4 if the tunnel ended while the relay was away', async () => {
      const other = await Relay.start(scope);
      const culvert = await Culvert.start(scope, other, other.bootstrapKey, service.port, ['--ttl', '10s']);
      await other.stop('SIGKILL');
      const { expires_at } = culvert.tunnel;
      await new Promise((resolve) => setTimeout(resolve, Date.parse(expires_at) - Date.now() + 100));
      await other.restart();
      assert.equal((await culvert.child.exit(25_000)).code, 4);
    });

    together('exits 5 when another client takes the tunnel over', async () => {
      const { key } = await pool.take();
      const culvert = await Culvert.start(scope, relay, key, service.port);
      await ControlSocket.open(scope, relay, key, culvert.tunnel.id);
      assert.equal((await culvert.child.exit()).code, 5);
    });

    together('exits 3 when the key is refused', async () => {
      assert.equal((await run(['http', '3000'], newApiKey())).result.code, 3);
    });
  });

  describe('list, close and extend', () => {
    it('show, close and extend a tunnel', async () => {
      const account = await createAccount(relay);
      const tunnel = await account.api.create({ local_port: 4321, name: 'listed', ttl: '2h' });
      const list = await run(['list'], account.key);
      assert.equal(list.result.code, 0);
      assert.match(list.lines.join('\n'), /^listed +offline +4321 /m);
      assert.equal((await run(['extend', tunnel.slug, '--ttl', '30m'], account.key)).result.code, 0);
      const { expires_at } = await account.api.get(tunnel.id);
      assert.equal(Date.parse(expires_at) - Date.parse(tunnel.expires_at), 30 * 60_000);
      assert.equal((await run(['close', tunnel.slug], account.key)).result.code, 0);
      assert.deepEqual(await account.api.list(), []);
    });
  });
});

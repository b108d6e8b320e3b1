import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { concurrentTests } from '../support/scope.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, newApiKey, Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';
import { ControlSocket } from '../support/spec-client/client.ts';

describe('culvert', () => {
  const { scope, relay, pool } = sharedRelaySuite();
  let service: HttpService;

  before(async () => {
    service = await startEchoService(scope);
  });

  describe('http', () => {
    const together = concurrentTests();

    together(
      'requests the tunnel with the given options, is online with its first event, and serves',
      async () => {
        const { key, api } = await pool.take();
        const elsewhere = { url: 'http://127.0.0.1:9' };
        const told = [
          '--relay',
          `${relay.url}/v1`,
          `--key=${key}`,
          '--name',
          'told-so',
          '--ttl',
          '90m',
          '--idle',
        ];
        const { child, tunnel } = await Culvert.start(scope, elsewhere, newApiKey(), service.port, told);
        assert.deepEqual(await api.get(tunnel.id), tunnel);
        const { name, ttl, idle_ttl, local_port } = tunnel;
        assert.deepEqual([name, ttl, idle_ttl, local_port], ['told-so', '1h30m0s', true, service.port]);
        const answer = await visit(relay.port, { host: hostOf(tunnel, relay), target: '/x' });
        assert.equal(readEcho(answer).url, '/x');
        // The key is not in the process list.
        assert.ok(!readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').includes(key));
      },
    );

    together('prints the address for people, and closes the tunnel at SIGINT', async () => {
      const { key, api } = await pool.take();
      const child = spawnCulvert(scope, ['http', String(service.port), '--name', 'for-people'], {
        CULVERT_RELAY: relay.url,
        CULVERT_API_KEY: key,
      });
      await child.line((line) =>
        line.includes(`http://for-people.localhost:${relay.port}`) ? line : undefined,
      );
      assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
      assert.ok(!(await api.list()).some(({ name }) => name === 'for-people'));
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

    together('closes the tunnel and exits 0 at SIGTERM', async () => {
      const { key, api } = await pool.take();
      const culvert = await Culvert.start(scope, relay, key, service.port);
      assert.deepEqual(await culvert.child.stop('SIGTERM'), { code: 0, signal: null });
      assert.equal((await api.send('GET', `/v1/tunnels/${culvert.tunnel.id}`)).status, 404);
    });

    together('exits 4 if the tunnel ended while the relay was away', async () => {
      const other = await Relay.start(scope);
      const culvert = await Culvert.start(scope, other, other.bootstrapKey, service.port);
      await other.stop('SIGKILL');
      await other.administer('tunnel', 'close', culvert.tunnel.id);
      await other.restart();
      assert.equal((await culvert.child.exit(25_000)).code, 4);
    });

    together('exits 5 when another client takes the tunnel over', async () => {
      const { key } = await pool.take();
      const culvert = await Culvert.start(scope, relay, key, service.port);
      await ControlSocket.open(scope, relay, key, culvert.tunnel.id);
      assert.equal((await culvert.child.exit()).code, 5);
    });
  });
});

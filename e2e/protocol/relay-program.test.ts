import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../support/api.ts';
import { familyOf, isWorker } from '../support/processes.ts';
import { newApiKey, Relay, RELAY_SCRIPT, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { Terminal } from '../support/terminal.ts';

/** ms from one moment of a start to the next. */
const STEP_MS = 100;
const CTRL_C = '\u0003';
const KEY = /cvt_[0-9A-Za-z]{32,}/;

describe('culvert-relay', () => {
  const scope = suiteScope();

  function environment(settings: Record<string, string> = {}): Record<string, string> {
    return { CULVERT_DATA_DIR: temporaryDirectory(scope), CULVERT_PORT: '0', ...settings };
  }

  describe('settings', () => {
    it('that are wrong end the start with code 2 and one line that names them', async () => {
      const child = spawnRelay(
        scope,
        ['serve'],
        environment({ CULVERT_PUBLIC_ULR: 'https://relay.example' }),
      );
      assert.equal((await child.exit()).code, 2);
      assert.match(child.stderr, /^[^\n]*CULVERT_PUBLIC_ULR[^\n]*\n$/);
      assert.deepEqual(child.lines, []);
    });

    it('of flags override the environment, and leave the process list; SIGINT ends as SIGTERM does', async () => {
      const settings = environment({ CULVERT_PORT: 'nonsense', CULVERT_MAX_TTL: '5h' });
      const key = newApiKey();
      const flags = ['--port', '0', '--host', '127.0.0.1', '--bootstrap-key', key];
      const child = spawnRelay(scope, ['serve', ...flags], settings);
      await child.line((line) => /^listening on http:\/\/127\.0\.0\.1:\d+$/.exec(line) ?? undefined);
      assert.ok(!readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').includes(key));
      assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
    });

    it("the operator's limits of ttls apply", async () => {
      const relay = await Relay.start(scope, { CULVERT_MAX_TTL: '2h', CULVERT_DEFAULT_TTL: '30m' });
      const api = new Api(relay, relay.bootstrapKey);
      assert.equal((await api.create({ local_port: 1 })).ttl, '30m0s');
      const tooLong = await api.send('POST', '/v1/tunnels', { json: { local_port: 1, ttl: '3h' } });
      assert.deepEqual(tooLong.json, { error: 'ttl must be at most 2h0m0s', code: 'ttl-too-long' });
      assert.equal(tooLong.head.field('culvert-error-values'), '{"duration":"2h0m0s"}');
      const { limits } = await api.account();
      assert.deepEqual([limits.default_ttl, limits.max_ttl], ['30m0s', '2h0m0s']);
    });
  });

  describe('serve', () => {
    it('is the default, and prints one line once it accepts requests', async () => {
      const child = spawnRelay(scope, [], environment({ CULVERT_BOOTSTRAP_KEY: newApiKey() }));
      const port = await child.line((line) => /^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line)?.[1]);
      assert.equal((await visit(Number(port), { host: 'localhost', target: '/readyz' })).status, 200);
      assert.equal(child.lines.length, 1);
      assert.deepEqual(await child.stop('SIGTERM'), { code: 0, signal: null });
      assert.equal(child.lines.length, 1);
      const log = child.stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { msg: string });
      // A busy machine may add that its database was slow.
      assert.deepEqual(
        log.map(({ msg }) => msg).filter((msg) => msg !== 'store slow'),
        ['relay starting', 'database created', 'listening', 'relay stopping', 'relay stopped'],
      );
    });

    it('creates a key at the first start without a bootstrap key, and prints the file it is in', async () => {
      const settings = environment();
      const first = spawnRelay(scope, ['serve'], settings);
      const port = Number(await first.line((line) => /^listening on .*:(\d+)$/.exec(line)?.[1]));
      const file = join(settings['CULVERT_DATA_DIR'] ?? '', 'first-key');
      const made = readFileSync(file, 'utf8').trim();
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const { plan, name } = await new Api({ port }, made).account();
      assert.deepEqual([name, plan], ['default', 'dev']);
      await first.stop('SIGTERM');
      const told = `${first.lines.join('\n')}\n${first.stderr}`;
      assert.ok(told.includes(`"file":"${file}"`), told);
      assert.doesNotMatch(told, KEY, 'a journal would keep it');
      const second = spawnRelay(scope, ['serve'], settings);
      await second.line((line) => (line.startsWith('listening') ? line : undefined));
      await second.stop('SIGTERM');
      assert.doesNotMatch(second.stderr, /first key made/);
      assert.equal(readFileSync(file, 'utf8').trim(), made);
    });

    it('prints that key and the next settings on a terminal, stores the key nowhere, and prints neither later', async () => {
      const settings = environment();
      const command = `${process.execPath} ${RELAY_SCRIPT} serve`;
      const first = new Terminal(scope, command, settings);
      const shown = await first.shows(/culvert-relay help serve/);
      assert.equal(shown.split(KEY).length, 2, shown);
      assert.deepEqual(
        readdirSync(settings['CULVERT_DATA_DIR'] ?? '').filter((name) => name.includes('key')),
        [],
      );
      assert.match(shown, /culvert login --relay http:\/\/localhost:\d+ and enter the key above/);
      assert.match(shown, /CULVERT_PUBLIC_URL=[\s\S]*CULVERT_TUNNEL_DOMAIN=[\s\S]*CULVERT_ACME_EMAIL=/);
      assert.ok(shown.includes(join(settings['CULVERT_DATA_DIR'] ?? '', 'culvert.db')), shown);
      first.type(CTRL_C);
      await first.shows(/relay stopped/);
      const second = new Terminal(scope, command, settings);
      await second.shows(/listening on \S+/);
      second.type(CTRL_C);
      const later = await second.shows(/relay stopped/);
      assert.doesNotMatch(later, /CULVERT_PUBLIC_URL/);
      assert.doesNotMatch(later, KEY);
    });

    for (const workers of [1, 3])
      it(`ends with code 0 at a signal at any moment of its start, with all of its processes (${workers})`, async () => {
        const stopped = Array.from({ length: 10 }, async (_, moment) => {
          const settings = environment({ CULVERT_WORKERS: String(workers) });
          const child = spawnRelay(scope, ['serve'], settings);
          await child.printed(/relay starting/);
          await delay(moment * STEP_MS);
          const pids = familyOf(child.pid);
          // As a service manager, a terminal, and others do it.
          const [signal, all] =
            (
              [
                ['SIGTERM', pids],
                ['SIGINT', pids],
                ['SIGTERM', [child.pid]],
              ] as const
            )[moment % 3] ?? assert.fail();
          for (const pid of all) process.kill(pid, signal);
          assert.deepEqual(await child.exit(), { code: 0, signal: null }, child.stderr);
          assert.match(child.stderr, /"msg":"relay stopped"}\n$/);
          assert.deepEqual(pids.filter(isWorker), []);
          return child.lines.length;
        });
        assert.ok((await Promise.all(stopped)).includes(0));
      });

    it('reports that its port is taken', async () => {
      const taken = createServer().listen(0, '127.0.0.1');
      scope.defer(() => taken.close());
      await new Promise((resolve) => taken.once('listening', resolve));
      const { port } = taken.address() as AddressInfo;
      const child = spawnRelay(scope, ['serve'], environment({ CULVERT_PORT: String(port) }));
      const { code } = await child.exit();
      assert.ok(code === 1 || code === 2, String(code));
      assert.match(child.stderr, new RegExp(`\\b${port}\\b`));
      assert.doesNotMatch(child.stderr, /\n\s+at /, 'no stack');
    });
  });
});

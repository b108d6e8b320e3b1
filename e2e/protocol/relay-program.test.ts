import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { newApiKey, Relay, RELAY_SCRIPT, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { Terminal } from '../support/terminal.ts';

const CTRL_C = '\u0003';
const WRONG: [setting: string, value: string][] = [
  ['CULVERT_PORT', 'http'],
  ['CULVERT_PORT', '65536'],
  ['CULVERT_PORT', '-1'],
  ['CULVERT_PUBLIC_URL', 'relay.example'],
  ['CULVERT_PUBLIC_URL', 'ftp://relay.example'],
  ['CULVERT_TUNNEL_DOMAIN', 'bad domain'],
  ['CULVERT_TUNNEL_DOMAIN', 'under_score..example'],
  ['CULVERT_SERVICE_DOMAIN', 'https://service.example'],
  ['CULVERT_DATABASE_URL', 'mysql://localhost/culvert'],
  ['CULVERT_BOOTSTRAP_KEY', 'secret'],
  ['CULVERT_BOOTSTRAP_KEY', 'cvt_short'],
  ['CULVERT_MAX_TTL', 'a week'],
  ['CULVERT_MAX_TTL', '0s'],
  ['CULVERT_DEFAULT_TTL', '1d'],
  ['CULVERT_LOG_FORMAT', 'xml'],
  ['CULVERT_LOG_LEVEL', 'loud'],
  ['CULVERT_TRUST_PROXY', 'everyone'],
  ['CULVERT_PUBLIC_ULR', 'https://relay.example'],
  ['CULVERT_TRUST_PROXY', '10.0.0.0/99'],
];

const KEY = /cvt_[0-9A-Za-z]{32,}/;

describe('culvert-relay', () => {
  const scope = suiteScope();

  function environment(settings: Record<string, string> = {}): Record<string, string> {
    return { CULVERT_DATA_DIR: temporaryDirectory(scope), CULVERT_PORT: '0', ...settings };
  }

  describe('settings', () => {
    for (const [setting, value] of WRONG) {
      it(`${setting}=${value} ends the start with code 2 and one line that names it`, async () => {
        const child = spawnRelay(scope, ['serve'], environment({ [setting]: value }));
        assert.equal((await child.exit()).code, 2);
        const lines = child.stderr.trim().split('\n');
        assert.equal(lines.length, 1, child.stderr);
        assert.match(child.stderr, new RegExp(setting));
        assert.deepEqual(child.lines, []);
      });
    }

    it('a default ttl above the maximum is also refused', async () => {
      const settings = environment({ CULVERT_MAX_TTL: '1h', CULVERT_DEFAULT_TTL: '2h' });
      const child = spawnRelay(scope, ['serve'], settings);
      assert.equal((await child.exit()).code, 2);
      assert.match(child.stderr, /CULVERT_(DEFAULT|MAX)_TTL/);
    });

    it('flags override the environment', async () => {
      const settings = environment({ CULVERT_PORT: 'nonsense', CULVERT_MAX_TTL: '5h' });
      const child = spawnRelay(scope, ['serve', '--port', '0', '--host', '127.0.0.1'], settings);
      await child.line((line) => /^listening on http:\/\/127\.0\.0\.1:\d+$/.exec(line) ?? undefined);
      assert.equal((await child.stop('SIGTERM')).code, 0);
    });

    it('a wrong flag ends the start with code 2 and names it', async () => {
      for (const args of [['serve', '--port', 'x'], ['serve', '--nonsense'], ['nonsense']]) {
        const child = spawnRelay(scope, args, environment());
        assert.equal((await child.exit()).code, 2, args.join(' '));
        assert.match(child.stderr, /port|nonsense/i);
      }
    });

    it("the operator's limits of ttls apply", async () => {
      const relay = await Relay.start(scope, { CULVERT_MAX_TTL: '2h', CULVERT_DEFAULT_TTL: '30m' });
      const api = new Api(relay, relay.bootstrapKey);
      assert.equal((await api.create({ local_port: 1 })).ttl, '30m0s');
      const tooLong = await api.send('POST', '/v1/tunnels', { json: { local_port: 1, ttl: '3h' } });
      assert.deepEqual(tooLong.json, { error: 'ttl must be at most 2h0m0s', code: 'ttl-too-long' });
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

    it('removes a key given by a flag from the process list', async () => {
      const key = newApiKey();
      const child = spawnRelay(scope, ['serve', '--bootstrap-key', key], environment());
      await child.line((line) => /^listening on /.exec(line) ?? undefined);
      assert.ok(!readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').includes(key));
      assert.equal((await child.stop('SIGTERM')).code, 0);
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

    it('prints that key on a terminal, and writes it nowhere', async () => {
      const settings = environment();
      const terminal = new Terminal(scope, `${process.execPath} ${RELAY_SCRIPT} serve`, settings);
      const shown = await terminal.shows(/listening on \S+/);
      assert.equal(shown.split(KEY).length, 2, shown);
      assert.deepEqual(
        readdirSync(settings['CULVERT_DATA_DIR'] ?? '').filter((name) => name.includes('key')),
        [],
      );
      terminal.type(CTRL_C);
    });

    it('prints which settings come next, but at no later start', async () => {
      const settings = environment();
      const command = `${process.execPath} ${RELAY_SCRIPT} serve`;
      const first = new Terminal(scope, command, settings);
      const shown = await first.shows(/culvert-relay help serve/);
      assert.match(shown, /culvert login --relay http:\/\/localhost:\d+ and enter the key above/);
      assert.match(shown, /CULVERT_PUBLIC_URL=[\s\S]*CULVERT_TUNNEL_DOMAIN=[\s\S]*CULVERT_ACME_EMAIL=/);
      assert.ok(shown.includes(join(settings['CULVERT_DATA_DIR'] ?? '', 'culvert.db')), shown);
      first.type(CTRL_C);
      await first.shows(/relay stopped/);
      const second = new Terminal(scope, command, settings);
      await second.shows(/listening on \S+/);
      second.type(CTRL_C);
      assert.doesNotMatch(await second.shows(/relay stopped/), /CULVERT_PUBLIC_URL/);
    });

    it('logs settings that are missing with a public URL', async () => {
      const child = spawnRelay(scope, ['serve'], environment({ CULVERT_PUBLIC_URL: 'https://relay.test' }));
      await child.line((line) => (line.startsWith('listening on ') ? line : undefined));
      assert.equal((await child.stop('SIGTERM')).code, 0);
      const missing = child.stderr.split('\n').filter((line) => line.includes('"msg":"setting missing"'));
      assert.deepEqual(
        missing.map((line) => (JSON.parse(line) as { setting: string }).setting),
        ['CULVERT_TUNNEL_DOMAIN', 'CULVERT_ACME_EMAIL'],
      );
    });

    it('ends with SIGINT as with SIGTERM', async () => {
      const relay = await Relay.start(scope);
      assert.deepEqual(await relay.stop('SIGINT'), { code: 0, signal: null });
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

  describe('account and key', () => {
    let relay: Relay;

    before(async () => {
      relay = await Relay.start(scope);
    });

    it('print the created object', async () => {
      const args = ['account', 'create', '--name', 'acme', '--plan', 'team', '--subdomain', 'acme'];
      const account = await relay.administer(...args);
      const { id, created_at, ...rest } = account;
      assert.match(String(id), /^[0-9a-f-]{36}$/);
      assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.deepEqual(rest, { name: 'acme', plan: 'team', subdomain: 'acme' });

      const key = await relay.administer('key', 'create', '--account', 'acme');
      assert.deepEqual(Object.keys(key).sort(), ['account', 'created_at', 'id', 'key']);
      assert.match(String(key['key']), /^cvt_[0-9A-Za-z]{32,}$/);
      const seen = await new Api(relay, String(key['key'])).account();
      assert.deepEqual([seen.client_id, seen.name, seen.subdomain], [id, 'acme', 'acme']);
    });

    it('show null for an account without a subdomain', async () => {
      const account = await relay.administer('account', 'create', '--name', 'plain', '--plan', 'free');
      assert.equal(account['subdomain'], null);
    });

    const refused: string[][] = [
      ['account', 'create', '--name', 'x', '--plan', 'gold'],
      ['account', 'create', '--plan', 'dev'],
      ['account', 'create', '--name', 'y', '--plan', 'dev', '--subdomain', 'Not_A_Label'],
      ['account', 'create', '--name', 'default', '--plan', 'dev'],
      ['key', 'create', '--account', 'nobody'],
      ['key', 'create'],
    ];
    for (const args of refused) {
      it(`refuse ${args.join(' ')}, with a line for people`, async () => {
        await assert.rejects(relay.administer(...args), (error: Error) => {
          assert.match(error.message, /ended with [12]: \S/);
          assert.doesNotMatch(error.message, /\n\s+at /, 'no stack');
          return true;
        });
      });
    }

    it('accept a subdomain once', async () => {
      await createAccount(relay, { subdomain: 'unique' });
      await assert.rejects(createAccount(relay, { subdomain: 'unique' }), /ended with [12]/);
    });
  });
});

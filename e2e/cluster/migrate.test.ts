import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DnsServer } from '../../server/testing/dns-server.ts';
import type { Link } from '../../shared/links.ts';
import { administer, createAccount } from '../support/accounts.ts';
import { addAccounts, addCertificates, addTunnels } from '../support/database.ts';
import { bringDomain, claimDomain } from '../support/dns-servers.ts';
import { newDatabase, query } from '../support/postgres.ts';
import { newApiKey, POSTGRES_URL, Relay, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { type Scope, suiteScope } from '../support/scope.ts';

const TABLES = [
  'accounts',
  'api_keys',
  'tunnels',
  'tunnel_links',
  'agents',
  'released_names',
  'kept_names',
  'tcp_ports',
  'endings',
  'relay_secrets',
  'audit',
  'invitations',
  'acme_accounts',
  'certificates',
  'domains',
] as const;
const KEYS = {
  accounts: 'id',
  api_keys: 'id',
  tunnels: 'id',
  tunnel_links: 'id',
  agents: 'id',
  released_names: 'slug',
  kept_names: 'name',
  tcp_ports: 'port',
  endings: 'id',
  relay_secrets: 'name',
  audit: 'id',
  invitations: 'id',
  acme_accounts: 'directory',
  certificates: 'name',
  domains: 'id',
} as const;

describe('culvert-relay migrate', () => {
  const scope = suiteScope();
  let old: Relay;
  let from: string;
  let rows: Record<string, Record<string, unknown>[]>;
  let key: string;
  let bootstrapKey: string;

  before(async () => {
    const dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    const folder = temporaryDirectory(scope);
    from = `sqlite:${join(folder, 'culvert.db')}`;
    bootstrapKey = newApiKey();
    old = await Relay.start(scope, {
      CULVERT_DATA_DIR: folder,
      CULVERT_DATABASE_URL: from,
      CULVERT_BOOTSTRAP_KEY: bootstrapKey,
      CULVERT_RESOLVER: dns.address,
    });
    const account = await createAccount(old, { subdomain: 'acme' });
    key = account.key;
    const access = { links: true };
    const tunnel = await account.api.create({ local_port: 3000, name: 'web', idle_ttl: true, access });
    await bringDomain(account, dns, 'app.shop.test');
    await claimDomain(account, 'shop.test');
    const links = `/v1/tunnels/${tunnel.id}/links`;
    for (const note of ['kept', 'revoked']) await account.api.send('POST', links, { json: { note } });
    const { json } = await account.api.send('GET', links);
    const gone = (json as { links: Link[] }).links.find(({ note }) => note === 'revoked');
    await account.api.send('DELETE', `${links}/${gone?.id}`);
    const held = await account.api.create({ local_port: 3000, name: 'held' });
    await account.api.send('DELETE', `/v1/tunnels/${held.id}`);
    await account.api.send('POST', '/v1/names', { json: { name: 'kept' } });
    const revoked = await createAccount(old);
    await administer(old, 'key', 'revoke', revoked.keyId);
    await administer(old, 'invite', 'create', '--account', revoked.name);
    addAccounts(old, revoked, 2500);
    addTunnels(old, tunnel, 2500);
    addCertificates(old, ['a.test'], 'chain', 'key');
  });

  function migrate(...args: string[]) {
    return run(scope, ['migrate', ...args]);
  }

  it('is refused while a relay uses the file', async () => {
    const { code, stderr } = await migrate('--from', from, '--to', await emptyDatabase(scope));
    assert.equal(code, 1);
    assert.match(
      stderr,
      /nothing was moved: another relay is using the database .*culvert\.db; stop that relay first/,
    );
  });

  it('moves everything to an empty database, and prints how many rows', async () => {
    await old.stop();
    rows = readAll(from);
    const to = await emptyDatabase(scope);
    const { code, lines } = await migrate('--from', from, '--to', to, '--json');
    assert.equal(code, 0);
    const counts = Object.fromEntries(TABLES.map((table) => [table, rows[table]?.length]));
    const said = JSON.parse(lines.join('\n')) as Record<string, unknown>;
    assert.deepEqual(said['rows'], counts);
    assert.ok(!JSON.stringify(said).includes(new URL(to).password));
    // Secrets of links and of access passes: of this week, and perhaps of the previous or the next one.
    const { relay_secrets: secrets = 0, ...others } = counts;
    assert.ok(secrets >= 2, String(secrets));
    assert.deepEqual(others, {
      accounts: 2503,
      api_keys: 2503,
      tunnels: 2501,
      tunnel_links: 2,
      agents: 0,
      released_names: 1,
      kept_names: 1,
      tcp_ports: 0,
      endings: 1,
      // Three accounts with a key each, one of them revoked, and an invitation.
      audit: 8,
      invitations: 1,
      acme_accounts: 1,
      certificates: 1,
      domains: 2,
    });
    for (const table of TABLES) {
      const order = KEYS[table];
      const moved = await query(to, `select * from ${table} order by ${order}`);
      // Node's client returns 64-bit numbers as text by default.
      assert.deepEqual(moved.map(asTexts), rows[table]?.map(asTexts), table);
    }
    const relay = await Relay.start(scope, { CULVERT_DATABASE_URL: to, CULVERT_BOOTSTRAP_KEY: bootstrapKey });
    const answer = await fetch(`${relay.url}/v1/tunnels`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(answer.status, 200);
    const { tunnels } = (await answer.json()) as { tunnels: { slug: string }[] };
    assert.ok(tunnels.some(({ slug }) => slug === 'web'));
  }).timeout(600_000);

  it('also prints a report for people, and reads the target from the environment', async () => {
    const child = spawnRelay(scope, ['migrate', '--from', from], {
      CULVERT_DATABASE_URL: await emptyDatabase(scope),
    });
    assert.equal((await child.exit()).code, 0, child.stderr);
    assert.match(
      child.lines.join('\n'),
      /^accounts +2503\n.*^tunnels +2501$.*compared the row counts.*relays and commands refuse to use it from now on\.$/ms,
    );
  });

  it('leaves a file that no relay and no command accepts any longer, and that names the new location', async () => {
    const folder = { CULVERT_DATABASE_URL: from };
    for (const args of [
      ['serve', '--port', '0'],
      ['account', 'list'],
      ['key', 'revoke', 'x'],
    ]) {
      const child = spawnRelay(scope, args, folder);
      assert.equal((await child.exit()).code, 1, args.join(' '));
      assert.match(
        child.stderr,
        /culvert\.db was moved to postgres:\/\/[^ ]+ on 20\d\d-.*CULVERT_DATABASE_URL/,
      );
      assert.deepEqual(child.lines, []);
    }
  });

  it('can be undone', async () => {
    const { code, lines } = await migrate('--undo', from);
    assert.equal(code, 0);
    assert.match(lines.join('\n'), /A relay can use .*culvert\.db again/);
    const child = spawnRelay(scope, ['account', 'list'], { CULVERT_DATABASE_URL: from });
    assert.equal((await child.exit()).code, 0, child.stderr);
    assert.match(child.stderr, /^culvert-relay: database .*culvert\.db$/m);
  });

  it('refuses a target that is not empty, and does not change it', async () => {
    const to = await emptyDatabase(scope);
    await Relay.start(scope, { CULVERT_DATABASE_URL: to });
    const { code, stderr } = await migrate('--from', from, '--to', to);
    assert.equal(code, 1);
    assert.match(stderr, /nothing was moved: .* is not empty \(accounts has 1 rows\)/);
    assert.deepEqual(await query(to, 'select count(*)::int as count from accounts'), [{ count: 1 }]);
  });

  it('leaves nothing behind if it fails half-way', async () => {
    const to = await emptyDatabase(scope);
    assert.equal((await migrate('--from', from, '--to', to)).code, 0);
    for (const table of [...TABLES].toReversed()) await query(to, `delete from ${table}`);
    await query(to, "alter table tunnels add constraint few check (slug not like 'many-f%')");
    const { code, stderr } = await migrate('--from', from, '--to', to);
    assert.equal(code, 1);
    assert.match(stderr, /nothing was moved: .*violates check constraint "few"/);
    for (const table of TABLES) {
      assert.deepEqual(await query(to, `select count(*)::int as count from ${table}`), [{ count: 0 }], table);
    }
    assert.deepEqual(readAll(from), rows);
  });

  it('prints its usage', async () => {
    const to = 'postgres://ann:secret@127.0.0.1:1/culvert';
    for (const [args, said] of [
      [['--to', to], /--from must be sqlite:/],
      [['--from', from, '--to', from], /must be postgres:/],
      [['--from', from], /CULVERT_DATABASE_URL without it, must be/],
      [['--from', from, '--to', to, '--fast'], /Unknown option --fast/],
    ] as const) {
      const { code, stderr } = await migrate(...args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, said);
    }
    const missing = await migrate('--from', 'sqlite:/nowhere/x.db', '--to', to);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /there is no database at \/nowhere\/x\.db/);
    const nothing = spawnRelay(scope, ['account', 'list'], {
      CULVERT_DATABASE_URL: await emptyDatabase(scope),
    });
    assert.equal((await nothing.exit()).code, 1);
    assert.match(nothing.stderr, /there is no relay database/);
    const unreachable = await migrate('--from', from, '--to', to);
    assert.equal(unreachable.code, 1);
    assert.match(
      unreachable.stderr,
      /cannot open the database postgres:\/\/ann@127\.0\.0\.1:1\/culvert: .*ECONNREFUSED/,
    );
  });
});

async function emptyDatabase(scope: Scope): Promise<string> {
  return await newDatabase(scope, POSTGRES_URL ?? '');
}

async function run(scope: Scope, args: readonly string[]) {
  const child = spawnRelay(scope, args, {});
  const { code } = await child.exit();
  return { code, lines: child.lines, stderr: child.stderr };
}

function readAll(from: string): Record<string, Record<string, unknown>[]> {
  const database = new DatabaseSync(from.slice('sqlite:'.length), { readOnly: true });
  try {
    return Object.fromEntries(
      TABLES.map((table) => [
        table,
        database.prepare(`select * from ${table} order by ${KEYS[table]}`).all(),
      ]),
    );
  } finally {
    database.close();
  }
}

function asTexts(row: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
}

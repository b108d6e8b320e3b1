import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashKey } from '../accounts/api-keys.ts';
import { markMoved } from '../store/database-address.ts';
import { openSqlite, openSqliteDatabase } from '../store/sqlite/open-sqlite.ts';
import { aTunnel } from '../testing/fixtures.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { main } from './main.ts';

type Json = Readonly<Record<string, unknown>>;

const NAMES_DATABASE = 'culvert-relay: database ';
const NAMES_HELP = 'Run "culvert-relay help ';
const UNKNOWN_ID = 'a3a3e3d2-2f0c-4a52-9d0b-1c37d25d5f10';
const CREATED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('culvert-relay account and key', () => {
  let folder: string;
  let shell: FakeShell;

  beforeEach(async () => {
    shell = new FakeShell();
    folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
    shell.env['CULVERT_DATA_DIR'] = folder;
    await (await openSqlite(join(folder, 'culvert.db'), () => {})).close();
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  function run(argv: string): Promise<number> {
    return main(shell, argv.split(' '), () => assert.fail('no relay should start'));
  }

  /** Runs a command that must succeed, and returns what it printed. */
  async function printed(argv: string): Promise<string[]> {
    assert.equal(await run(argv), 0, shell.stderr.join('\n'));
    return shell.stdout.splice(0);
  }

  async function json(argv: string): Promise<Json> {
    const [line = '', ...more] = await printed(`${argv} --json`);
    assert.deepEqual(more, []);
    return JSON.parse(line) as Json;
  }

  it('create an account and a key for it', async () => {
    const account = await json('account create --name acme --plan team --subdomain acme');
    assert.deepEqual(Object.keys(account), ['id', 'name', 'plan', 'subdomain', 'created_at']);
    assert.deepEqual([account['name'], account['plan'], account['subdomain']], ['acme', 'team', 'acme']);
    const issued = await json('key create --account acme');
    assert.deepEqual(Object.keys(issued), ['id', 'account', 'key', 'created_at']);
    const store = await openSqlite(join(folder, 'culvert.db'), () => {});
    const owner = await store.findKeyOwner(hashKey(String(issued['key'])));
    await store.close();
    assert.equal(owner?.account.id, account['id']);
  });

  it("do not give an account a tunnel's name as its subdomain", async () => {
    const { id } = await json('account create --name acme --plan dev');
    const store = await openSqlite(join(folder, 'culvert.db'), () => {});
    await store.insertTunnel(aTunnel(String(id), { slug: 'web', expiresAt: Date.now() + 60_000 }));
    await store.close();
    assert.equal(await run('account create --name other --plan dev --subdomain web'), 1);
    assert.equal(shell.stderr.at(-1), 'culvert-relay: the subdomain is taken; choose a different one');
  });

  it('create a key with a label, an expiry and a scope', async () => {
    await json('account create --name acme --plan dev');
    const argv = ['key', 'create', '--account', 'acme', '--label', "Ann's laptop", '--expires', '720h'];
    assert.equal(await main(shell, [...argv, '--name', 'web'], () => assert.fail()), 0);
    const [said = ''] = shell.stdout.splice(0);
    assert.match(said, /^Created a key for the tunnel "web" of the account "acme", valid until 20\d\d-/);
    assert.match(
      (await printed('key create --account acme --admin'))[0] ?? '',
      /to administer the relay with/,
    );
    assert.match(
      (await printed('key create --account acme --agent --prefix ann-ai'))[0] ?? '',
      /^Created a key for an agent, whose tunnels can be called "ann-ai-…", of the account "acme"\./,
    );
    await printed('key create --account acme --agent');
    const { keys } = (await json('key list')) as { keys: Record<string, unknown>[] };
    const created = Date.parse(String(keys[0]?.['created_at']));
    assert.equal(keys[0]?.['label'], "Ann's laptop");
    assert.equal(keys[0]?.['expires_at'], new Date(created + 720 * 3_600_000).toISOString());
    assert.deepEqual(
      keys.map((key) => key['scope']),
      ['web', 'admin', 'agent:ann-ai', 'agent:agent'],
    );
  });

  it('limit a key to ten years, and its label to 100 characters', async () => {
    await printed('account create --name acme --plan dev');
    await printed(`key create --account acme --expires 87600h --label ${'x'.repeat(100)}`);
    assert.equal(await run('key create --account acme --expires 87601h'), 2);
    assert.match(shell.stderr.at(-2) ?? '', /--expires must be a duration from 1s to 87600h, such as 720h$/);
    assert.equal(await run(`key create --account acme --label ${'x'.repeat(101)}`), 2);
    assert.match(shell.stderr.at(-2) ?? '', /--label must be at most 100 characters/);
  });

  it('accept names with spaces', async () => {
    const argv = ['account', 'create', '--name', 'Acme Inc', '--plan', 'dev', '--json'];
    assert.equal(await main(shell, argv, () => assert.fail()), 0);
    assert.match(shell.stdout[0] ?? '', /"name":"Acme Inc"/);
  });

  it('list accounts, change a plan and remove an account', async () => {
    const acme = await json('account create --name acme --plan free');
    const other = await json('account create --name other --plan dev');
    assert.deepEqual(await json('account list'), { accounts: [acme, other] });
    assert.deepEqual(await json('account set-plan --name acme --plan team'), { ...acme, plan: 'team' });
    assert.deepEqual(await json('account remove --name other'), { ...other, status: 'removed' });
    assert.deepEqual(await json('account list'), { accounts: [{ ...acme, plan: 'team' }] });
  });

  it('list keys without their values, and revoke one', async () => {
    for (const name of ['acme', 'other']) await run(`account create --name ${name} --plan dev`);
    shell.stdout.length = 0;
    const { key, ...first } = await json('key create --account acme');
    const { key: otherKey, ...second } = await json('key create --account other');
    const plain = { label: '', expires_at: null, last_used_at: null, scope: 'all' };
    const listed = [
      { ...first, hint: String(key).slice(0, 8), ...plain },
      { ...second, hint: String(otherKey).slice(0, 8), ...plain },
    ];
    assert.deepEqual(await json('key list'), { keys: listed });
    assert.deepEqual(await json('key list --account other'), { keys: [listed[1]] });
    assert.deepEqual(await json(`key revoke ${String(first['id'])}`), { ...listed[0], status: 'revoked' });
    assert.deepEqual(await json('key list'), { keys: [listed[1]] });
    assert.deepEqual(await json('key list --account acme'), { keys: [] });
  });

  it('warn of a key scoped to a tunnel if its account may not choose names', async () => {
    await json('account create --name acme --plan free');
    const { key } = await json('key create --account acme --name web');
    assert.match(String(key), /^cvt_/);
    assert.match(
      shell.stderr.at(-2) ?? '',
      /"acme" is on the Free plan, which does not allow names, so this key cannot create a tunnel$/,
    );
    assert.match(shell.stderr.at(-1) ?? '', /account set-plan --name "acme" --plan dev$/);
    shell.stderr.splice(0);
    await json('account set-plan --name acme --plan dev');
    await json('key create --account acme --name web');
    assert.deepEqual(shell.stderr, [
      NAMES_DATABASE + join(folder, 'culvert.db'),
      NAMES_DATABASE + join(folder, 'culvert.db'),
    ]);
  });

  it('reject a label that a terminal would display differently', async () => {
    await json('account create --name acme --plan dev');
    const argv = ['key', 'create', '--account', 'acme', '--label', 'ann\u202Etxt.exe'];
    assert.equal(await main(shell, argv, () => assert.fail()), 2);
    assert.match(
      shell.stderr.at(-2) ?? '',
      /--label must be at most 100 characters without control characters$/,
    );
  });

  it('print text for people without --json', async () => {
    const empty = await printed('account list');
    assert.deepEqual(empty, [
      `There are no accounts in ${join(folder, 'culvert.db')}. Create one with: account create`,
    ]);
    assert.deepEqual(await printed('key list'), ['There are no valid keys. Create one with: key create']);
    const [created] = await printed('account create --name acme --plan free');
    assert.match(created ?? '', /^Created the account "acme" \(free plan, no subdomain\)/);
    const [shown, key] = await printed('key create --account acme');
    assert.match(shown ?? '', /will not be shown again/);
    assert.match(key ?? '', /^cvt_\w{32}$/);

    const [accountTitles = '', account = ''] = await printed('account list');
    assert.deepEqual(accountTitles.split(/ +/), ['NAME', 'PLAN', 'SUBDOMAIN', 'CREATED', 'ID']);
    const [name, plan, subdomain, createdAt] = account.split(/ +/);
    assert.deepEqual([name, plan, subdomain], ['acme', 'free', '-']);
    assert.match(createdAt ?? '', CREATED);
    const [keyTitles = '', row = ''] = await printed('key list');
    assert.equal(keyTitles.replaceAll(/  +/g, '|'), 'KEY|ACCOUNT|LABEL|SCOPE|LAST USED|EXPIRES|CREATED|ID');
    const [hint, owner, label, scope, used, end, , id = ''] = row.split(/ +/);
    assert.deepEqual([hint, owner], [`${key?.slice(0, 8)}…`, 'acme']);
    assert.deepEqual([label, scope, used, end], ['-', 'all', '-', '-']);

    assert.deepEqual(await printed(`key revoke ${id}`), [`Revoked the key ${hint} of the account "acme".`]);
    assert.deepEqual(await printed('account set-plan --name acme --plan dev'), [
      'The account "acme" is now on the dev plan. Open tunnels stay open.',
    ]);
    assert.deepEqual(await printed('account remove --name acme'), [
      'Removed the account "acme" together with its keys and tunnels.',
    ]);
  });

  const wrong: [argv: string, exitCode: number, line: RegExp][] = [
    ['account create --plan dev', 2, /^--name must be the name of an account/],
    ['account create --name x', 2, /^--plan must be one of free, dev, team$/],
    ['account create --name x --plan gold', 2, /^--plan must be one of free, dev, team$/],
    ['account create --name x --plan dev --subdomain A', 2, /^--subdomain must be 2-63 lowercase letters/],
    ['account create --name x --plan dev --subdomain www', 1, /^the subdomain "www" is reserved/],
    ['account create --name taken --plan dev', 1, /^the name is taken/],
    ['account create --name x --plan dev --subdomain taken', 1, /^the subdomain is taken/],
    ['account create --name x --plan dev --colour red', 2, /^Unknown option '--colour'$/],
    ['account create me --name x --plan dev', 2, /^unexpected argument "me"$/],
    ['account list --name x', 2, /^Unknown option '--name'$/],
    ['account set-plan --name nobody --plan dev', 1, /^there is no account "nobody" in \//],
    ['account set-plan --name taken', 2, /^--plan must be one of/],
    ['account remove', 2, /^--name must be the name of an account/],
    ['account remove --name nobody', 1, /^there is no account "nobody" in \//],
    ['key create', 2, /^--account must be the name of an account/],
    ['key create --account taken --expires 90d', 2, /^--expires must be a duration from 1s to/],
    [
      'key create --account taken --name all',
      2,
      /^--name must be the name of a tunnel, .* other than all, owner, admin$/,
    ],
    ['key create --account taken --name X', 2, /^--name must be the name of a tunnel/],
    ['key create --account taken --name web --admin', 2, /^--admin, --owner, --agent and --name cannot be/],
    ['key create --account taken --agent --owner', 2, /^--admin, --owner, --agent and --name cannot be/],
    ['key create --account taken --agent --prefix A', 2, /^--prefix must be 1-32 lowercase.*, not "A"$/],
    ['key create --account taken --agent --prefix a--b', 2, /^--prefix must be .* single hyphens/],
    ['key create --account taken --prefix ai', 2, /^--prefix can only be used with --agent$/],
    ['key create --account nobody', 1, /^there is no account "nobody" in \//],
    ['key list --account nobody', 1, /^there is no account "nobody" in \//],
    ['key revoke', 2, /^key revoke needs a key's id/],
    ['key revoke a b', 2, /^unexpected argument "b"$/],
    [`key revoke ${UNKNOWN_ID}`, 1, /^there is no valid key with the id "a3a3e3d2-/],
  ];
  for (const [argv, exitCode, line] of wrong) {
    it(`reject "${argv}"`, async () => {
      await printed('account create --name taken --plan dev --subdomain taken');
      assert.equal(await run(argv), exitCode);
      const [problem = '', ...more] = shell.stderr.filter(
        (said) => !said.startsWith(NAMES_DATABASE) && !said.startsWith(NAMES_HELP),
      );
      assert.match(problem.replace('culvert-relay: ', ''), line);
      assert.deepEqual([more, shell.stdout], [[], []]);
    });
  }

  it('revoke a key only once', async () => {
    await run('account create --name acme --plan dev');
    shell.stdout.length = 0;
    const { id } = await json('key create --account acme');
    await printed(`key revoke --json ${String(id)}`);
    assert.equal(await run(`key revoke ${String(id)}`), 1);
  });

  it("refuse a subdomain that would be the relay's own host", async () => {
    shell.env['CULVERT_PUBLIC_URL'] = 'https://edge.example.com';
    shell.env['CULVERT_SERVICE_DOMAIN'] = 'example.com';
    assert.equal(await run('account create --name x --plan dev --subdomain edge'), 1);
  });

  it('print the database they work on, separately from the machine-readable output', async () => {
    await json('account create --name acme --plan dev');
    assert.deepEqual(shell.stderr, [`${NAMES_DATABASE}${join(folder, 'culvert.db')}`]);
  });

  for (const [what, why] of [
    ['nothing', 'there is no relay database; "culvert-relay serve" creates one'],
    [
      'an empty file',
      'the file is empty, so it is not what a relay has stored: restore a backup, or remove the file to begin with a new database',
    ],
  ])
    it(`do not create a database for ${what}`, async () => {
      const elsewhere = join(folder, 'elsewhere');
      const file = join(elsewhere, 'culvert.db');
      if (what !== 'nothing') {
        mkdirSync(elsewhere);
        writeFileSync(file, '');
      }
      shell.env['CULVERT_DATA_DIR'] = elsewhere;
      for (const argv of ['account list', 'account create --name x --plan dev', `key revoke ${UNKNOWN_ID}`]) {
        assert.equal(await run(argv), 1);
        assert.deepEqual(shell.stderr.splice(0), [`culvert-relay: cannot open the database ${file}: ${why}`]);
      }
      assert.equal(existsSync(elsewhere), what !== 'nothing');
    });

  it('change nothing in a database that was moved, and show where to', async () => {
    const { id } = await json('account create --name acme --plan dev');
    const db = await openSqliteDatabase(join(folder, 'culvert.db'));
    await markMoved(db, 'postgres://relay@db/culvert', Date.UTC(2030, 0, 2));
    await db.destroy();
    shell.stderr.length = 0;
    for (const argv of [`key revoke ${String(id)}`, 'account list']) {
      assert.equal(await run(argv), 1);
      assert.match(
        shell.stderr.splice(0).join(),
        /culvert\.db was moved to postgres:\/\/relay@db\/culvert on 2030-01-02T.*; set CULVERT_DATABASE_URL to that database/,
      );
    }
    await printed(`migrate --undo sqlite:${join(folder, 'culvert.db')}`);
    assert.equal(await run(`migrate --undo sqlite:${join(folder, 'culvert.db')}`), 1);
    assert.match(shell.stderr.join(), /was never moved to another one/);
    await printed('account list');
  });

  it('refuse an unknown setting, and suggest the nearest', async () => {
    shell.env['CULVERT_DATABSE_URL'] = 'sqlite:/nowhere';
    assert.equal(await run('account list'), 2);
    assert.deepEqual(shell.stderr, [
      'culvert-relay: unknown setting CULVERT_DATABSE_URL; did you mean CULVERT_DATABASE_URL?',
      'Run "culvert-relay help account list" for usage and examples.',
    ]);
  });

  it('explain why the database cannot be opened', async () => {
    shell.env['CULVERT_DATABASE_URL'] = `sqlite:${folder}`;
    assert.equal(await run('key create --account x'), 1);
    assert.match(
      shell.stderr[0] ?? '',
      /^culvert-relay: cannot open the database .*: unable to open database file$/,
    );
  });
});

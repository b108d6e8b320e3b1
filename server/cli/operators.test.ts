import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { hashKey } from '../accounts/api-keys.ts';
import { ACCOUNTS_AT_ONCE_MAX } from '../administration/account-actions.ts';
import { REASON_MAX_LENGTH } from '../administration/given.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import type { Store } from '../store/store.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { main } from './main.ts';
import { userName } from './process.ts';

type Json = Readonly<Record<string, unknown>>;

describe('culvert-relay, for operators', () => {
  let folder: string;
  let shell: FakeShell;
  let store: Store;

  beforeEach(async () => {
    shell = new FakeShell();
    folder = temporaryDirectory();
    shell.env['CULVERT_DATA_DIR'] = folder;
    store = await openSqlite(join(folder, 'culvert.db'), () => {});
  });

  afterEach(() => store.close());

  async function run(...argv: string[]): Promise<number> {
    return await main(shell, argv, () => assert.fail('no relay should start'));
  }

  async function printed(...argv: string[]): Promise<string[]> {
    assert.equal(await run(...argv), 0, shell.stderr.join('\n'));
    return shell.stdout.splice(0);
  }

  async function json(...argv: string[]): Promise<Json> {
    const [line = ''] = await printed(...argv, '--json');
    return JSON.parse(line) as Json;
  }

  /** Gives a command that fails, and returns what it says. */
  async function refused(code: number, ...argv: string[]): Promise<string> {
    assert.equal(await run(...argv), code, argv.join(' '));
    return shell.stderr.findLast((line) => !line.startsWith('Run "culvert-relay help')) ?? '';
  }

  it('secrets renew invalidates what was signed with them, and is recorded in the audit log', async () => {
    const before = await store.relaySecret('links 1', 1);
    assert.deepEqual(await json('secrets', 'renew'), { status: 'renewed', links_ended: 0 });
    assert.notEqual(await store.relaySecret('links 1', 1), before);
    assert.equal((await store.listAudit(1))[0]?.action, 'secrets.renew');
  });

  describe('account create', () => {
    const plan = ['--plan', 'dev'];

    it('also creates a key with --with-key', async () => {
      const { key, ...account } = await json('account', 'create', '--name', 'ann', ...plan, '--with-key');
      assert.deepEqual(Object.keys(account), ['id', 'name', 'plan', 'subdomain', 'created_at']);
      assert.equal((await store.findKeyOwner(hashKey(String(key))))?.account.name, 'ann');
      const second = await json('key', 'create', '--account', 'ann');
      assert.equal((await store.findKeyOwner(hashKey(String(second['key']))))?.account.name, 'ann');
    });

    it('creates up to 1,000 accounts, each with a key', async () => {
      const { accounts } = (await json(
        'account',
        'create',
        ...plan,
        '--name',
        'x',
        '--count',
        '1000',
        '--with-key',
      )) as {
        accounts: Json[];
      };
      assert.equal(new Set(accounts.map(({ key }) => key)).size, ACCOUNTS_AT_ONCE_MAX);
    }).timeout(120_000);
  });

  async function storedAccounts(): Promise<string[]> {
    return (await store.listAccounts()).map(
      ({ name, plan, subdomain }) => `${name} ${plan} ${subdomain ?? '-'}`,
    );
  }

  describe('invite', () => {
    beforeEach(() => store.setPublicOrigin('https://relay.example.com'));

    describe('with --from', () => {
      let file: string;

      beforeEach(async () => {
        file = join(folder, 'people.txt');
        await printed('account', 'create', '--name', 'ann', '--plan', 'team');
      });

      it('creates an account and an invitation for each line, and only an invitation if there is one', async () => {
        writeFileSync(file, 'ann\r\n\nbob, free\n  Čára Ž,dev,cara  \ndave,,dave\n');
        const lines = await printed('invite', 'create', '--from', file);
        assert.deepEqual(
          lines.map((line) => line.split('\t')[0]),
          ['ann', 'bob', 'Čára Ž', 'dave'],
        );
        for (const line of lines) assert.match(line, /\thttps:\/\/relay\.example\.com\/invite\/[\w-]{32}$/);
        assert.deepEqual((await storedAccounts()).toSorted(), [
          'ann team -',
          'bob free -',
          'dave dev dave',
          'Čára Ž dev cara',
        ]);
        const open = await store.listInvitations(Date.now());
        assert.deepEqual(
          open.map(({ label, account }) => `${label} ${account.name}`).toSorted(),
          ['ann', 'bob', 'dave', 'Čára Ž'].map((name) => `${name} ${name}`),
        );
      });

      it('accepts up to 1,000 people', async () => {
        writeFileSync(file, Array.from({ length: 1001 }, (_, index) => `n${index}\n`).join(''));
        assert.match(await refused(2, 'invite', 'create', '--from', file), /a file with 1 to 1000 people/);
        assert.deepEqual(await storedAccounts(), ['ann team -']);
      });
    });
  });

  describe('with an account', () => {
    beforeEach(async () => {
      await printed('account', 'create', '--name', 'acme', '--plan', 'dev');
      await store.setPublicOrigin('https://relay.example.com');
    });

    it('limit a reason to 200 characters', async () => {
      const suspend = ['account', 'suspend', '--name', 'acme', '--reason'];
      await printed(...suspend, 'x'.repeat(REASON_MAX_LENGTH));
      await refused(2, ...suspend, 'x'.repeat(REASON_MAX_LENGTH + 1));
    });

    it('limit invitations to 90 days, and to 1,000 per command', async () => {
      const create = ['invite', 'create', '--account', 'acme'];
      await printed(...create, '--ttl', '2160h', '--count', '1000');
    });

    it('limit a key to ten years, and its label to 100 characters', async () => {
      const create = ['key', 'create', '--account', 'acme', '--expires', '87600h'];
      await printed(...create, '--label', 'x'.repeat(100));
      assert.match(await refused(2, ...create, '--label', 'x'.repeat(101)), /--label must be at most 100/);
      const { keys } = (await json('key', 'list')) as { keys: Json[] };
      const [created, expires] = ['created_at', 'expires_at'].map((name) =>
        Date.parse(String(keys[0]?.[name])),
      );
      assert.equal((expires ?? 0) - (created ?? 0), 87_600 * 3_600_000);
    });

    it('record the user that the system proves, and SUDO_USER only as a claim', () => {
      for (const [SUDO_USER, name, shown] of [
        [undefined, 'ann', 'ann'],
        ['ann', 'ann', 'ann'],
        ['ann', 'root', 'root (SUDO_USER=ann)'],
        ['bob', 'ann', 'ann (SUDO_USER=bob)'],
        ['ann) key:1', 'root', 'root'],
      ] as const)
        assert.equal(userName({ SUDO_USER }, name), shown);
      assert.equal(userName({}), userInfo().username);
    });
  });
});

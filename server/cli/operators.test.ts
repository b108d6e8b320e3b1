import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { hashKey } from '../accounts/api-keys.ts';
import { ACCOUNTS_AT_ONCE_MAX, REASON_MAX_LENGTH } from '../limits.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import type { Store } from '../store/store.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { aTunnel } from '../testing/fixtures.ts';
import { main } from './main.ts';
import { userName } from './process.ts';

type Json = Readonly<Record<string, unknown>>;

describe('culvert-relay, for operators', () => {
  let folder: string;
  let shell: FakeShell;
  let store: Store;

  beforeEach(async () => {
    shell = new FakeShell();
    folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
    shell.env['CULVERT_DATA_DIR'] = folder;
    store = await openSqlite(join(folder, 'culvert.db'), () => {});
  });

  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

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

  async function aLiveTunnel(slug: string): Promise<string> {
    const account = await store.findAccount('acme');
    const tunnel = aTunnel(account?.id ?? '', { slug, expiresAt: Date.now() + 60_000 });
    await store.insertTunnel(tunnel);
    return tunnel.id;
  }

  it('secrets renew invalidates what was signed with them, and is recorded in the audit log', async () => {
    const before = await store.relaySecret('links 1', 1);
    assert.deepEqual(await json('secrets', 'renew'), { status: 'renewed', links_ended: 0 });
    assert.notEqual(await store.relaySecret('links 1', 1), before);
    assert.equal((await store.listAudit(1))[0]?.action, 'secrets.renew');
    await refused(2, 'secrets');
  });

  describe('account create', () => {
    const plan = ['--plan', 'dev'];

    it('also creates a key with --with-key', async () => {
      const { key, ...account } = await json('account', 'create', '--name', 'ann', ...plan, '--with-key');
      assert.deepEqual(Object.keys(account), ['id', 'name', 'plan', 'subdomain', 'created_at']);
      assert.equal((await store.findKeyOwner(hashKey(String(key))))?.account.name, 'ann');
      const [said, shown] = await printed('account', 'create', '--name', 'bob', ...plan, '--with-key');
      assert.match(said ?? '', /will not be shown again:$/);
      assert.match(shown ?? '', /^cvt_\w{32}$/);
    });

    it('creates the accounts of a team of fifty with --count, or with a file of names', async () => {
      const many = ['account', 'create', ...plan, '--with-key'];
      const { accounts } = (await json(...many, '--name', 'team', '--count', '50')) as { accounts: Json[] };
      assert.deepEqual([accounts.length, accounts[49]?.['name']], [50, 'team-50']);
      assert.equal(new Set(accounts.map(({ key }) => key)).size, 50);
      const file = join(folder, 'names');
      writeFileSync(file, 'Ann Smith\r\n\nbob\n');
      const lines = await printed(...many, '--from', file);
      assert.deepEqual(
        lines.map((line) => line.replace(/cvt_\w{32}/, 'KEY')),
        ['Ann Smith  KEY', 'bob        KEY'],
      );
      assert.match(
        await refused(1, ...many, '--from', file),
        /"Ann Smith" is taken; no account was created$/,
      );
      assert.equal((await store.listAccounts()).length, 52);
    });

    it('create at most 1,000 accounts per command', async () => {
      const { accounts } = (await json('account', 'create', ...plan, '--name', 'x', '--count', '1000')) as {
        accounts: Json[];
      };
      assert.equal(accounts.length, ACCOUNTS_AT_ONCE_MAX);
      assert.match(
        await refused(2, 'account', 'create', ...plan, '--name', 'x', '--count', '1001'),
        /--count must be a number from 1 to 1000$/,
      );
    }).timeout(120_000);

    it('rejects impossible combinations', async () => {
      const file = join(folder, 'names');
      writeFileSync(file, 'ann\nann\n');
      for (const [args, said] of [
        [['--from', file], /"ann" is not a valid account name, or appears twice/],
        [['--from', file, '--name', 'x'], /--from cannot be combined with/],
        [['--name', 'x', '--count', '2', '--subdomain', 'xy'], /only be used for one account/],
        [['--name', 'x', '--count', '0'], /--count must be a number from 1 to 1000/],
      ] as const)
        assert.match(await refused(2, 'account', 'create', ...plan, ...args), said);
      assert.match(await refused(1, 'account', 'create', ...plan, '--from', '/nowhere'), /cannot be read/);
      assert.deepEqual(await store.listAccounts(), []);
    });
  });

  async function storedAccounts(): Promise<string[]> {
    return (await store.listAccounts()).map(
      ({ name, plan, subdomain }) => `${name} ${plan} ${subdomain ?? '-'}`,
    );
  }

  describe('invite', () => {
    const create = ['invite', 'create', '--account', 'newcomers'];

    beforeEach(() => store.setPublicOrigin('https://relay.example.com'));

    it('creates addresses, and the account if it does not exist', async () => {
      const [line = '', ...more] = await printed(...create);
      assert.match(line, /^https:\/\/relay\.example\.com\/invite\/[\w-]{32}$/);
      assert.deepEqual(more, []);
      assert.equal((await store.findAccount('newcomers'))?.plan, 'dev');
      const { invites } = (await json(...create, '--count', '3', '--plan', 'free')) as { invites: Json[] };
      assert.deepEqual(Object.keys(invites[0] ?? {}), ['id', 'account', 'label', 'url', 'expires_at']);
      assert.equal(new Set(invites.map(({ url }) => url)).size, 3);
      assert.equal((await store.findAccount('newcomers'))?.plan, 'dev');
    });

    it('lists unused invitations without their addresses, and revokes them', async () => {
      await printed(...create);
      const { invites } = (await json('invite', 'list')) as { invites: Json[] };
      const [open] = invites;
      assert.deepEqual(Object.keys(open ?? {}), ['id', 'account', 'label', 'expires_at']);
      assert.match((await printed('invite', 'list')).join('\n'), /^newcomers +- +20/m);
      await printed('invite', 'revoke', String(open?.['id']));
      assert.match(
        await refused(1, 'invite', 'revoke', String(open?.['id'])),
        /there is no open invitation with the id/,
      );
      assert.match((await printed('invite', 'list')).join(), /no open invitations/);
      assert.match(await refused(2, 'invite', 'revoke'), /needs an invitation's id/);
    });

    it('shows whom an invitation is for', async () => {
      await printed(...create, '--label', 'ann');
      assert.match((await printed('invite', 'list')).join('\n'), /^newcomers +ann +20/m);
      assert.match(await refused(2, ...create, '--label', 'x'.repeat(101)), /--label must be at most 100/);
    });

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

      it('prints one array with --json', async () => {
        writeFileSync(file, 'ann\nbob\n');
        const [line = ''] = await printed('invite', 'create', '--from', file, '--json');
        const made = JSON.parse(line) as Json[];
        assert.deepEqual(
          made.map(({ name, account }) => [name, account]),
          [
            ['ann', 'ann'],
            ['bob', 'bob'],
          ],
        );
        assert.match(String(made[1]?.['url']), /\/invite\//);
      });

      it('creates nothing if any line is wrong', async () => {
        await printed('account', 'create', '--name', 'taken', '--plan', 'dev', '--subdomain', 'taken');
        const before = await storedAccounts();
        const wrong: readonly (readonly [content: string, why: RegExp])[] = [
          ['bob\nbob', /"bob" appears twice/],
          ['bob,gold', /"bob,gold": the plan must be one of free, dev, team/],
          ['bob,dev,-x', /the subdomain must be 2-63 lowercase/],
          ['bob,dev,www', /the subdomain "www" is reserved/],
          ['bob,dev,x1\ncarl,dev,x1', /"x1" appears twice/],
          ['bob,dev,x,y', /a line must be NAME/],
          [',dev', /the name must be/],
          ['bob\u001b[2J', /the name must be/],
          ['', /must be a file with 1 to 1000 people/],
          ['bob\n'.repeat(1001), /must be a file with 1 to 1000 people/],
        ];
        for (const [content, why] of wrong) {
          writeFileSync(file, `carol\n${content}`.slice(content === '' ? 6 : 0));
          assert.match(await refused(2, 'invite', 'create', '--from', file), why);
        }
        writeFileSync(file, 'bob\ncarl,dev,taken');
        assert.match(await refused(1, 'invite', 'create', '--from', file), /the subdomain is taken/);
        assert.deepEqual(await storedAccounts(), before);
        assert.deepEqual(await store.listInvitations(Date.now()), []);
      });

      it('refuses options that are about one account', async () => {
        writeFileSync(file, 'bob');
        for (const option of ['account', 'count', 'label'])
          assert.match(
            await refused(2, 'invite', 'create', '--from', file, `--${option}`, '1'),
            new RegExp(`--from cannot be combined with --${option}`),
          );
      });
    });

    it('prints the public URL that it is given instead of the one that the relay has stored', async () => {
      const [line = ''] = await printed(...create, '--public-url', 'https://other.example.com:8443/');
      assert.match(line, /^https:\/\/other\.example\.com:8443\/invite\//);
    });
  });

  describe('invite create, before the relay has stored its public URL', () => {
    const create = ['invite', 'create', '--account', 'newcomers'];

    it('fails and changes nothing', async () => {
      assert.match(await refused(2, ...create), /start the relay once, or give its URL with --public-url$/);
      assert.equal(await store.findAccount('newcomers'), undefined);
    });

    it('uses the URL that it is given', async () => {
      const [line = ''] = await printed(...create, '--public-url', 'https://relay.example.com');
      assert.match(line, /^https:\/\/relay\.example\.com\/invite\//);
    });
  });

  describe('with an account', () => {
    beforeEach(async () => {
      await printed('account', 'create', '--name', 'acme', '--plan', 'dev');
      await store.setPublicOrigin('https://relay.example.com');
    });

    it('suspend and resume it', async () => {
      const suspend = ['account', 'suspend', '--name', 'acme'];
      assert.equal((await json(...suspend, '--reason', ' phishing '))['suspended'], 'phishing');
      assert.match((await printed('account', 'list')).join(), /suspended: phishing$/);
      assert.equal((await json('account', 'resume', '--name', 'acme'))['suspended'], undefined);
      assert.match(await refused(1, 'account', 'resume', '--name', 'x'), /there is no account "x" in \//);
      assert.match(await refused(2, ...suspend), /--reason must be 1-200 characters/);
    });

    it('limit a reason to 200 characters', async () => {
      const suspend = ['account', 'suspend', '--name', 'acme', '--reason'];
      await printed(...suspend, 'x'.repeat(REASON_MAX_LENGTH));
      await refused(2, ...suspend, 'x'.repeat(REASON_MAX_LENGTH + 1));
    });

    it('give it another subdomain, or none', async () => {
      const set = ['account', 'set-subdomain', '--name', 'acme'];
      assert.equal((await json(...set, '--subdomain', 'acme'))['subdomain'], 'acme');
      assert.equal((await json(...set, '--none'))['subdomain'], null);
      assert.match(await refused(1, ...set, '--subdomain', 'www'), /reserved/);
      await refused(2, ...set);
      await refused(2, ...set, '--none', '--subdomain', 'acme');
    });

    it('list, close, suspend and resume its tunnels, by name or id', async () => {
      assert.deepEqual(await printed('tunnel', 'list'), ['There are no live tunnels.']);
      const [web, shop] = [await aLiveTunnel('web'), await aLiveTunnel('shop')];
      const over = aTunnel((await store.findAccount('acme'))?.id ?? '', { slug: 'over' });
      await store.insertTunnel(over);
      const { tunnels } = (await json('tunnel', 'list', '--account', 'acme')) as { tunnels: Json[] };
      assert.deepEqual(
        new Set(tunnels.map(({ slug, account }) => `${String(slug)} of ${String(account)}`)),
        new Set(['shop of acme', 'web of acme']),
      );
      assert.equal((await json('tunnel', 'suspend', 'web', '--reason', 'x'))['suspended'], 'x');
      assert.match((await printed('tunnel', 'list')).join('\n'), /^web .* suspended: x$/m);
      assert.equal((await json('tunnel', 'resume', web))['suspended'], null);
      assert.equal((await json('tunnel', 'close', shop))['status'], 'closed');
      for (const gone of ['shop', 'over', over.id])
        assert.match(await refused(1, 'tunnel', 'close', gone), /there is no tunnel ".*" in \//);
      await refused(2, 'tunnel', 'close');
    });

    it('prefer an id, even if another tunnel has it as its name', async () => {
      const meant = await aLiveTunnel('web');
      await aLiveTunnel(meant);
      assert.equal((await json('tunnel', 'suspend', meant, '--reason', 'x'))['slug'], 'web');
      assert.equal((await json('tunnel', 'resume', meant))['slug'], 'web');
      assert.equal((await json('tunnel', 'close', meant))['slug'], 'web');
      assert.equal((await json('tunnel', 'close', meant))['slug'], meant);
    });

    it('show the address of a tunnel that ended while suspended, and release it', async () => {
      const id = await aLiveTunnel('web');
      await printed('tunnel', 'suspend', 'web', '--reason', 'phishing');
      await printed('tunnel', 'close', 'web');
      assert.deepEqual((await json('tunnel', 'list', '--account', 'acme'))['suspended_names'], [
        { id, slug: 'web', account: 'acme', domain: null, suspended: 'phishing' },
      ]);
      const shown = (await printed('tunnel', 'list')).join('\n');
      assert.match(shown, /^There are no live tunnels\.$/m);
      assert.match(shown, new RegExp(`^web +acme +- +${id} +phishing$`, 'm'));
      assert.deepEqual(await printed('tunnel', 'resume', id), [
        'The tunnel has ended. Its name web can be used again.',
      ]);
      assert.deepEqual((await json('tunnel', 'list'))['suspended_names'], []);
      await refused(1, 'tunnel', 'resume', 'web');
    });

    it('limit invitations to 90 days, and to 1,000 per command', async () => {
      const create = ['invite', 'create', '--account', 'acme'];
      await printed(...create, '--ttl', '2160h', '--count', '1000');
      assert.match(
        await refused(2, ...create, '--ttl', '2161h'),
        /--ttl must be a duration from 1s to 2160h/,
      );
      assert.match(await refused(2, ...create, '--count', '1001'), /--count must be a number from 1 to 1000/);
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

    it('record the operator of each action', async () => {
      await printed('key', 'create', '--account', 'acme', '--label', 'laptop');
      await printed('account', 'set-plan', '--name', 'acme', '--plan', 'team');
      await printed('account', 'suspend', '--name', 'acme', '--reason', 'phishing');
      await refused(1, 'account', 'remove', '--name', 'nobody');
      const { acts } = (await json('audit')) as { acts: Record<string, string>[] };
      assert.deepEqual(
        acts.map(({ actor, action }) => [actor, action]),
        [
          ['shell:ann', 'account.create'],
          ['shell:ann', 'key.create'],
          ['shell:ann', 'account.set-plan'],
          ['shell:ann', 'account.suspend'],
        ],
      );
      assert.match(acts[1]?.['detail'] ?? '', /^cvt_\w{4}… of acme, all, "laptop"$/);
      const [titles, last] = await printed('audit', '--count', '1');
      assert.match(titles ?? '', /^AT +WHO +DID +TO$/);
      assert.match(last ?? '', /shell:ann +account\.suspend +acme +phishing$/);
      assert.match(await refused(2, 'audit', '--count', '0'), /--count must be a number from 1 to 10000/);
    });
  });
});

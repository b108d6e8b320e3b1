import assert from 'node:assert/strict';
import fs, {
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import { lockDatabase } from '../store/sqlite/sqlite-files.ts';
import { ConflictError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import {
  aDomain,
  aKeptName,
  aKeyRecord,
  aLink,
  allTunnels,
  anAccess,
  anAccount,
  anAgent,
  anInvitation,
  aTunnel,
  ofEach,
  ofTunnels,
} from '../testing/fixtures.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { main } from './main.ts';

const ACCESS = anAccess({ allow: ['203.0.113.7'], links: true });

describe('culvert-relay backup and restore', () => {
  const account = anAccount({ name: 'before' });
  let folder: string;
  let database: string;
  let file: string;
  let shell: FakeShell;
  let store: Store;

  beforeEach(async () => {
    shell = new FakeShell();
    folder = temporaryDirectory();
    shell.env['CULVERT_DATA_DIR'] = folder;
    database = join(folder, 'culvert.db');
    file = join(folder, 'copy.db');
    store = await openSqlite(database, () => {});
    await store.insertAccounts([account]);
    for (const id of ['kept', 'revoked']) await store.insertKey(aKeyRecord({ id, accountId: account.id }));
  });

  afterEach(() => store.close());

  async function run(...argv: string[]): Promise<number> {
    return await main(shell, argv, () => assert.fail('no relay should start'));
  }

  async function names(): Promise<string[]> {
    const again = await openSqlite(database, () => {});
    const accounts = await again.listAccounts();
    await again.close();
    return accounts.map(({ name }) => name);
  }

  /** Restores the copy and opens the result. */
  async function restored(): Promise<string[]> {
    await store.close();
    shell.stdout.splice(0);
    assert.equal(await run('restore', file), 0, shell.stderr.join());
    store = await openSqlite(database, () => {});
    return shell.stdout.slice(2);
  }

  it('copy the database while it is in use, for its owner only, and restore it', async () => {
    assert.equal(await run('backup', file), 0, shell.stderr.join());
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await store.insertAccounts([anAccount({ name: 'after' })]);
    await store.close();
    assert.equal(await run('restore', file, '--json'), 0, shell.stderr.join());
    const { kept } = JSON.parse(shell.stdout.at(-1) ?? '') as { kept: string };
    assert.deepEqual(await names(), ['before']);
    const replaced = await openSqlite(kept, () => {});
    assert.equal((await replaced.listAccounts()).length, 2);
    await replaced.close();
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('.part')),
      [],
    );
    store = await openSqlite(database, () => {});
  });

  it('keep keys revoked that were revoked after the copy', async () => {
    await run('backup', file);
    await store.revokeKey('revoked', 5);
    assert.deepEqual(await restored(), ['1 key that was revoked after the backup stays revoked.']);
    assert.deepEqual(await store.findEndedKeys(['kept', 'revoked'], 10), [{ id: 'revoked', end: 'revoked' }]);
  });

  it('omit the secrets of cookies and links from the copy, and keep the existing ones', async () => {
    const secrets = ['pass 1', 'links 1', 'session tickets 1', 'dns zones'];
    const before: string[] = [];
    for (const name of secrets) before.push(await store.relaySecret(name, 1));
    const tunnel = aTunnel(account.id);
    await store.insertTunnel(tunnel);
    await store.insertLink(aLink(tunnel.id), { maxLinks: 1, maxRevoked: 1 });
    await run('backup', file);
    const bytes = readFileSync(file);
    assert.deepEqual(
      before.map((secret) => bytes.includes(secret)),
      [false, false, false, true],
    );
    await restored();
    for (const [index, name] of secrets.entries())
      assert.equal(await store.relaySecret(name, 1), before[index]);
    assert.equal((await store.linksOf(tunnel.id, 1000)).length, 1);
    await store.close();
    rmSync(database);
    assert.equal(await run('restore', file), 0, shell.stderr.join());
    assert.match(shell.stdout.join('\n'), /^1 signed link no longer works: /m);
    store = await openSqlite(database, () => {});
    assert.deepEqual(await store.linksOf(tunnel.id, 1000), []);
    assert.notEqual(await store.relaySecret('links 1', 1), before[1]);
  });

  it('keep accounts removed or suspended, with their keys', async () => {
    const others = ['removed', 'suspended', 'resumed'].map((name) => anAccount({ name }));
    const keys = others.map(({ name, id }) => aKeyRecord({ id: `key of ${name}`, accountId: id }));
    await store.insertAccounts(others, keys);
    await store.setSuspension('resumed', 'too early');
    await run('backup', file);
    await store.removeAccount('removed', 5);
    await store.setSuspension('suspended', 'phishing');
    await store.setSuspension('resumed', null);
    assert.deepEqual(await restored(), [
      '1 account that was removed after the backup stays removed.',
      '1 account that was suspended after the backup stays suspended.',
    ]);
    const left = await store.listAccounts();
    assert.deepEqual(Object.fromEntries(left.map(({ name, suspended }) => [name, suspended])), {
      before: null,
      resumed: 'too early',
      suspended: 'phishing',
    });
    assert.deepEqual(await store.findEndedKeys(['key of removed'], 9), [
      { id: 'key of removed', end: 'removed' },
    ]);
    // Not at the next restore either, nor with the same key.
    await run('backup', `${file}.later`);
    file = `${file}.later`;
    assert.deepEqual(await restored(), []);
    await assert.rejects(store.insertKey(keys[0] ?? assert.fail()), ConflictError);
  });

  it('keep used and revoked invitations ended', async () => {
    const invitations = ['used', 'revoked', 'open'].map((id) => anInvitation(account.id, { id, hash: id }));
    await store.insertInvitations(invitations, 0);
    await run('backup', file);
    const act = { id: 'x', at: 5, actor: '', action: '', subject: '', detail: '', accountId: null };
    const key = aKeyRecord({ accountId: account.id });
    assert.equal(await store.takeInvitation('used', { key, act }, 5), true);
    assert.equal(await store.revokeInvitation('revoked', 5), true);
    assert.deepEqual(await restored(), [
      '2 invitations that were used or revoked after the backup stay used or revoked.',
    ]);
    assert.deepEqual(ofEach(await store.listInvitations(9), 'id'), ['open']);
  });

  it('keep tunnels closed or suspended, their links revoked or used, and their current access policy', async () => {
    const slugs = ['closed', 'expired', 'suspended', 'resumed', 'locked', 'same'];
    const tunnels = new Map(slugs.map((slug) => [slug, aTunnel(account.id, { slug })]));
    const idOf = (slug: string): string => tunnels.get(slug)?.id ?? '';
    for (const tunnel of tunnels.values()) await store.insertTunnel(tunnel);
    await store.suspendTunnel(idOf('resumed'), 'too early');
    await store.relaySecret('links 1', 1);
    const links = [aLink(idOf('locked')), aLink(idOf('locked'), { once: true })];
    for (const link of links) await store.insertLink(link, { maxLinks: 9, maxRevoked: 9 });
    await run('backup', file);
    const closed = { id: idOf('closed'), slug: 'closed', accountId: account.id, heldUntil: 0 };
    await store.releaseTunnels([closed], 2000);
    await store.suspendTunnel(idOf('suspended'), 'phishing');
    await store.suspendTunnel(idOf('resumed'), null);
    await store.setAccess(idOf('locked'), { access: ACCESS, kept: [] }, 'any');
    await store.revokeLink(idOf('locked'), links[0]?.id ?? '', 2000);
    const used = { usedAt: 2000, usedBy: 'a browser' };
    await store.takeLink({ linkScope: idOf('locked'), id: links[1]?.id ?? '' }, used.usedBy, used.usedAt);
    const late = aTunnel(account.id, { slug: 'late' });
    await store.insertTunnel(late);
    await store.suspendTunnel(late.id, 'spam');
    assert.deepEqual(await restored(), [
      '1 tunnel that was closed after the backup stays closed.',
      '1 tunnel that was suspended after the backup stays suspended.',
      '1 link that was revoked after the backup stays revoked.',
    ]);
    const now = new Map((await allTunnels(store)).map(({ tunnel }) => [tunnel.slug, tunnel]));
    assert.deepEqual([...now.keys()].toSorted(), ['expired', 'locked', 'resumed', 'same', 'suspended']);
    assert.equal(now.get('suspended')?.suspended, 'phishing');
    assert.equal(now.get('resumed')?.suspended, 'too early');
    assert.deepEqual(now.get('locked')?.access, ACCESS);
    assert.deepEqual(
      now.get('locked')?.revokedLinks.map(([id]) => id),
      [links[0]?.id],
    );
    assert.deepEqual(await store.linksOf(idOf('locked'), 2000), [{ ...links[1], ...used }]);
    assert.deepEqual({ ...now.get('same') }, tunnels.get('same'));
    // It was made and suspended after the copy.
    assert.deepEqual(
      (await store.suspendedNames()).map(({ slug, reason }) => [slug, reason]),
      [['late', 'spam']],
    );
    await assert.rejects(store.insertTunnel(aTunnel(account.id, { slug: 'late' })), ConflictError);
  });

  it('keep agents revoked, and those whose tunnel takes none any more', async () => {
    const takes = anAccess({ oauth: true });
    const [open, shut] = ['open', 'shut'].map((slug) => aTunnel(account.id, { slug, access: takes }));
    assert.ok(open && shut);
    for (const tunnel of [open, shut]) await store.insertTunnel(tunnel);
    const [revoked, kept, excluded] = [anAgent(open), anAgent(open), anAgent(shut)];
    assert.ok(revoked && kept && excluded);
    for (const agent of [revoked, kept, excluded]) await store.insertAgent(agent, 9);
    await run('backup', file);
    await store.endAgent(open, revoked.id, 2000);
    await store.setAccess(shut.id, { access: ACCESS, kept: [] }, 'any');
    assert.deepEqual(await restored(), ['1 agent that was revoked after the backup stays revoked.']);
    const left = [];
    for (const { id } of [revoked, kept, excluded]) left.push((await store.findAgent(id)) !== undefined);
    assert.deepEqual(left, [false, true, false]);
  });

  it('keep names released, and links of kept names revoked', async () => {
    const rules = { maxNames: 9, nameHold: 0 };
    await store.relaySecret('links 1', 1);
    const keeping = ['released', 'again', 'kept'].map((name) => aKeptName(account.id, name));
    for (const name of keeping) await store.keepName(name, rules);
    const [released, again, kept] = keeping;
    assert.ok(released && again && kept);
    const tunnel = aTunnel(account.id, { slug: 'kept' });
    await store.insertTunnel(tunnel);
    const [early, late, good] = [1, 2, 3].map(() => aLink(kept.linkScope));
    assert.ok(early && late && good);
    for (const link of [early, good]) await store.insertLink(link, { maxLinks: 9, maxRevoked: 9 });
    await run('backup', file);
    await store.insertLink(late, { maxLinks: 9, maxRevoked: 9 });
    for (const { id } of [early, late]) await store.revokeLink(kept.linkScope, id, 2000);
    await store.releaseTunnels([{ ...tunnel, heldUntil: 0 }], 2000);
    for (const { name } of [released, again])
      await store.act('releaseName', [{ name, accountId: account.id }, 2000], []);
    const next = aKeptName(account.id, 'again');
    await store.keepName(next, rules);
    assert.deepEqual(await restored(), [
      '1 tunnel that was closed after the backup stays closed.',
      '1 link that was revoked after the backup stays revoked.',
      '2 names that were released after the backup stay released.',
    ]);
    assert.deepEqual(await store.keptNames(account.id), [next, kept]);
    assert.deepEqual(await store.linksOf(kept.linkScope, 2000), [good]);
    const { revokedLinks } = (await store.insertTunnel(aTunnel(account.id, { slug: 'kept' }))).tunnel;
    assert.deepEqual(revokedLinks.map(([id]) => id).toSorted(), [early.id, late.id].toSorted());
  });

  it('keep domains removed or lost to another account, with their tunnels', async () => {
    const other = anAccount({ name: 'other' });
    await store.insertAccounts([other]);
    const claims = ['removed.test', 'lost.test', 'kept.test'].map((domain) => aDomain(account.id, domain));
    const release = { now: 5, nameHold: 0, checkAt: 0, instead: null };
    for (const claim of claims) {
      await store.insertDomain(claim, null);
      await store.verifyDomain({ id: claim.id, ...release });
      await store.insertTunnel(
        aTunnel(account.id, { domain: claim.domain, slug: claim.domain.split('.')[0] ?? '' }),
      );
    }
    await run('backup', file);
    const [removed, lost] = claims;
    await store.removeDomain({ id: removed?.id ?? '', accountId: account.id }, release);
    const theirs = aDomain(other.id, 'lost.test');
    await store.insertDomain(theirs, null);
    await store.verifyDomain({ id: theirs.id, ...release, instead: lost?.id ?? '' });
    const lines = await restored();
    assert.ok(lines.includes('2 domains that were removed after the backup stay removed.'), lines.join('\n'));
    assert.deepEqual(ofEach(await store.verifiedDomains('', 9), 'domain'), ['kept.test']);
    assert.deepEqual(await ofTunnels(store, 'slug'), ['kept']);
  });

  it('keep the address of a suspended tunnel reserved, and the audit log', async () => {
    const tunnel = aTunnel(account.id, { slug: 'web' });
    await store.insertTunnel(tunnel);
    await run('backup', file);
    const act = { id: 'act', at: 5, actor: 'shell:ann', action: 'x', subject: 'web', detail: '' };
    await store.act('suspendTunnel', [tunnel.id, 'phishing'], [{ ...act, accountId: null }]);
    await store.releaseTunnels([{ ...tunnel, heldUntil: 0 }], 2000);
    await restored();
    await assert.rejects(store.insertTunnel(aTunnel(account.id, { slug: 'web' })), ConflictError);
    const acts = await store.listAudit(9);
    assert.deepEqual(
      acts.map(({ actor, action, subject, detail }) => [actor, action, subject, detail]),
      [
        ['shell:ann', 'x', 'web', ''],
        ['shell:ann', 'restore', database, `from "${file}"`],
      ],
    );
  });

  it('warn without a database to compare with, and restore the copy', async () => {
    await run('backup', file);
    await store.insertAccounts([anAccount({ name: 'after' })]);
    // Left behind by a database that is gone, whose pages must not get into the copy.
    const log = readFileSync(`${database}-wal`);
    assert.ok(log.includes('after'));
    await store.close();
    rmSync(database);
    writeFileSync(`${database}-wal`, log);
    assert.equal(await run('restore', file), 0, shell.stderr.join());
    assert.match(
      shell.stderr.join('\n'),
      /there was no database .* to compare the backup with\n.*is valid again:/,
    );
    assert.deepEqual(await names(), ['before']);
    store = await openSqlite(database, () => {});
  });

  it('change nothing when the replaced database cannot be read', async () => {
    await run('backup', file);
    await store.close();
    const before = readFileSync(database);
    writeFileSync(database, 'no database at all, but some text that is long enough to look like one');
    assert.equal(await run('restore', file), 1);
    assert.match(
      shell.stderr.at(-1) ?? '',
      /nothing was restored: the changes made since the backup could not be read .*; to restore without them, move that file away/,
    );
    writeFileSync(database, before);
    store = await openSqlite(database, () => {});
  });

  it('neither overwrite nor follow an existing file, and write for their owner only', async () => {
    const target = join(folder, 'of somebody else');
    writeFileSync(target, 'unchanged');
    for (const name of [`${file}.${process.pid}.part`, `${database}.${process.pid}.part`])
      symlinkSync(target, name);
    symlinkSync(target, `${database}.last-backup`);
    assert.equal(await run('backup', file), 0, shell.stderr.join());
    assert.equal(lstatSync(`${database}.last-backup`).isSymbolicLink(), false);
    for (const name of [file, `${database}.last-backup`]) assert.equal(statSync(name).mode & 0o777, 0o600);
    await restored();
    assert.equal(statSync(database).mode & 0o777, 0o600);
    assert.equal(readFileSync(target, 'utf8'), 'unchanged');
    symlinkSync(join(folder, 'nothing'), join(folder, 'dangling'));
    assert.equal(await run('backup', join(folder, 'dangling')), 1);
    assert.match(
      shell.stderr.at(-1) ?? '',
      /already exists; choose a different file name, or use --overwrite$/,
    );
  });

  it('change nothing while a relay uses the database, or with a file that is not a database', async () => {
    await run('backup', file);
    const lock = lockDatabase(database);
    assert.equal(await run('restore', file), 1);
    assert.match(shell.stderr.at(-1) ?? '', /nothing was restored: another relay is using the database/);
    lock.release();
    const broken = join(folder, 'broken');
    writeFileSync(broken, 'no database at all, but some text that is long enough to look like one');
    assert.equal(await run('restore', broken), 1);
    assert.match(shell.stderr.at(-1) ?? '', /nothing was restored: .*not a database/);
    assert.equal(await run('restore', join(folder, 'missing')), 1);
    assert.equal((await store.listAccounts()).length, 1);
  });

  it('leave the database in its place if the restore ends before the copy has its name', async () => {
    await run('backup', file);
    await store.close();
    const { renameSync } = fs;
    fs.renameSync = (from, to) => {
      if (to === database) throw new Error('no power');
      renameSync(from, to);
    };
    syncBuiltinESMExports();
    try {
      assert.equal(await run('restore', file), 1);
    } finally {
      fs.renameSync = renameSync;
      syncBuiltinESMExports();
    }
    assert.deepEqual(await names(), ['before']);
    store = await openSqlite(database, () => {});
  });

  it('replace an earlier backup with --overwrite, and nothing else', async () => {
    await run('backup', file);
    await store.insertAccounts([anAccount({ name: 'after' })]);
    assert.equal(await run('backup', '--overwrite', file), 0, shell.stderr.join());
    const copy = await openSqlite(file, () => {});
    assert.equal((await copy.listAccounts()).length, 2);
    await copy.close();
    const link = join(folder, 'link');
    symlinkSync(file, link);
    for (const other of [folder, link, database, `${database}-wal`]) {
      assert.equal(await run('backup', '--overwrite', other), 1);
      assert.match(shell.stderr.at(-1) ?? '', /is not a backup; choose a different file name$/);
    }
  });

  it('overwrite no file, and print their usage', async () => {
    await run('backup', file);
    assert.equal(await run('backup', file), 1);
    assert.match(
      shell.stderr.at(-1) ?? '',
      /already exists; choose a different file name, or use --overwrite$/,
    );
    assert.equal(await run('backup'), 2);
    shell.env['CULVERT_DATA_DIR'] = join(folder, 'elsewhere');
    assert.equal(await run('backup', join(folder, 'x')), 1);
    assert.match(shell.stderr.at(-1) ?? '', /there is no database/);
    shell.env['CULVERT_DATABASE_URL'] = 'postgres://ann@db/culvert';
    assert.equal(await run('backup', join(folder, 'x')), 2);
    assert.match(shell.stderr.at(-2) ?? '', /for PostgreSQL, use pg_dump$/);
  });
});

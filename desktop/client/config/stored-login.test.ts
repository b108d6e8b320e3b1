import assert from 'node:assert/strict';
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPosix } from '../../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { parseRelayAddress } from '../relay/relay-address.ts';
import { configFolder, StoredLogin, StoredLoginError } from './stored-login.ts';

const mode = (path: string): number => statSync(path).mode & 0o777;

describe('StoredLogin', () => {
  const LOGIN = { relay: parseRelayAddress('https://relay.example'), key: `cvt_${'k'.repeat(32)}` };
  let root: string;
  let warnings: string[];
  let stored: StoredLogin;

  beforeEach(() => {
    root = temporaryDirectory();
    warnings = [];
    stored = new StoredLogin(join(root, 'a', 'culvert'), (text) => warnings.push(text));
  });

  it('returns the login stored last', async () => {
    assert.equal(stored.read(), undefined);
    await stored.write({ ...LOGIN, key: `cvt_${'o'.repeat(32)}` });
    await stored.write(LOGIN);
    assert.deepEqual(stored.read(), LOGIN);
    assert.deepEqual(warnings, []);
  });

  it("keeps the relay's authority, but not a whole collection of them", async () => {
    await stored.write({ ...LOGIN, ca: 'a certificate' });
    assert.deepEqual(stored.read(), { ...LOGIN, ca: 'a certificate' });
    await assert.rejects(stored.write({ ...LOGIN, ca: 'x'.repeat(70_000) }), StoredLoginError);
    assert.deepEqual(stored.read(), { ...LOGIN, ca: 'a certificate' });
  });

  onPosix('lets nobody else read it, and leaves no draft behind', async () => {
    await stored.write(LOGIN);
    assert.equal(mode(stored.path), 0o600);
    assert.equal(mode(join(root, 'a', 'culvert')), 0o700);
    assert.deepEqual(readdirSync(join(root, 'a', 'culvert')), ['login.json']);
  });

  onPosix('takes a file away from others who could read it, and says so', async () => {
    await stored.write(LOGIN);
    chmodSync(stored.path, 0o644);
    assert.deepEqual(stored.read(), LOGIN);
    assert.equal(mode(stored.path), 0o600);
    assert.match(warnings.join(), /other users.*login\.json.*revoke/);
  });

  onPosix('says what to do about a file of another user', async () => {
    await stored.write(LOGIN);
    chmodSync(join(root, 'a'), 0);
    const isRoot = process.geteuid?.() === 0;
    // Root may read everything.
    if (isRoot) process.seteuid?.(65_534);
    try {
      for (const act of [
        async () => stored.read(),
        async () => await stored.write(LOGIN),
        async () => await stored.remove(),
      ])
        await assert.rejects(act, (error) => {
          assert.ok(error instanceof StoredLoginError);
          assert.match(
            error.message,
            /login\.json cannot be \w+ by this user.*chown -R "\$USER" '.*culvert'$/,
          );
          return true;
        });
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(join(root, 'a'), 0o700);
    }
  });

  it('forgets a login once', async () => {
    await stored.write(LOGIN);
    assert.equal(await stored.remove(), true);
    assert.equal(await stored.remove(), false);
    assert.equal(stored.read(), undefined);
  });

  const damaged = [
    '',
    '{',
    '[]',
    '{"relay":"https://relay.example"}',
    '{"relay":"https://relay.example","key":"cvt_short"}',
    `{"relay":"x","key":"${LOGIN.key}"}`,
  ];
  for (const text of damaged) {
    it(`rejects ${text === '' ? 'an empty file' : text}, and says what to do`, async () => {
      await stored.write(LOGIN);
      writeFileSync(stored.path, text);
      assert.throws(
        () => stored.read(),
        (error) => error instanceof StoredLoginError && /login\.json is damaged.*login/.test(error.message),
      );
    });
  }

  it('reads at most 64 KiB', async () => {
    await stored.write(LOGIN);
    writeFileSync(stored.path, 'x'.repeat(64 * 1024 + 1));
    assert.throws(() => stored.read(), /larger than 65536 bytes/);
  });
});

describe('configFolder', () => {
  const cases: [NodeJS.Platform, Record<string, string>, string, string][] = [
    ['linux', {}, '/home/ada', '/home/ada/.config/culvert'],
    ['linux', { XDG_CONFIG_HOME: '/etc/ada' }, '/home/ada', '/etc/ada/culvert'],
    ['linux', { XDG_CONFIG_HOME: 'relative' }, '/home/ada', '/home/ada/.config/culvert'],
    ['freebsd', { XDG_CONFIG_HOME: '' }, '/home/ada', '/home/ada/.config/culvert'],
    ['darwin', { XDG_CONFIG_HOME: '/x' }, '/Users/ada', '/Users/ada/Library/Application Support/Culvert'],
    ['win32', { APPDATA: 'D:\\Roaming' }, 'C:\\Users\\ada', 'D:\\Roaming\\Culvert'],
    ['win32', {}, 'C:\\Users\\ada', 'C:\\Users\\ada\\AppData\\Roaming\\Culvert'],
  ];
  for (const [platform, env, home, folder] of cases) {
    it(`is ${folder}`, () => assert.equal(configFolder({ platform, env, home }), folder));
  }
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { certificate, newKey, pemOf, publicKeyOf } from '../certificates/acme/x509.ts';
import { STORE_RETRY_MS, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { openTestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { Log } from '../log.ts';
import { CertificateWatch, readKeyPair, TICKET_KEY_MS, TicketKeys } from './listener.ts';

const HOUR_MS = 3_600_000;

describe('TicketKeys', () => {
  /** noon */
  let clock: FakeClock;
  let store: Store;

  beforeEach(async () => {
    clock = new FakeClock(Date.UTC(2026, 0, 1, 12));
    store = await openTestStore(() => {});
  });

  afterEach(() => store.close());

  function start(of: Pick<Store, 'relaySecret' | 'removeSecrets'> = store): Promise<TicketKeys> {
    return TicketKeys.start({ store: of, clock });
  }

  it('are shared by all relays on the database, and survive a restart', async () => {
    const [one, two] = [await start(), await start()];
    assert.equal(one.current.length, 48);
    assert.deepEqual(two.current, one.current);
  });

  it('change each day, on every relay, at the same moment', async () => {
    const [one, two] = [await start(), await start()];
    const before = one.current;
    const changes = [next(one), next(two)];
    clock.advance(TICKET_KEY_MS / 2);
    const [first, second] = await Promise.all(changes);
    assert.deepEqual(first, second);
    assert.notDeepEqual(first, before);
    const another = next(one);
    clock.advance(TICKET_KEY_MS);
    assert.notDeepEqual(await another, first);
  });

  it('are forgotten after their day: nothing in the database can recreate them', async () => {
    const keys = await start();
    const { current } = keys;
    const change = next(keys);
    clock.advance(TICKET_KEY_MS / 2 + HOUR_MS);
    await change;
    clock.jump(-TICKET_KEY_MS / 2 - HOUR_MS);
    assert.notDeepEqual((await start()).current, current);
  });

  it('are not adopted from a relay whose clock is ahead by less than an hour', async () => {
    clock.jump(TICKET_KEY_MS / 2 - HOUR_MS / 2);
    const behind = await start();
    clock.jump(HOUR_MS);
    const { current } = await start();
    clock.jump(-HOUR_MS);
    await start();
    clock.jump(HOUR_MS);
    assert.deepEqual((await start()).current, current);
    behind.stop();
  });

  it('are replaced when all secrets have been renewed', async () => {
    const keys = await start();
    const { current } = keys;
    await keys.reload();
    assert.deepEqual(keys.current, current);
    const change = next(keys);
    await store.removeSecrets('', Infinity);
    await keys.reload();
    assert.deepEqual(await change, keys.current);
    assert.notDeepEqual(keys.current, current);
  });

  it('stay in use while the store fails, and are renewed when it is back', async () => {
    let fails = false;
    const failing = async (name: string, now: number): Promise<string> => {
      if (fails) throw new StoreError(new Error('away'));
      return await store.relaySecret(name, now);
    };
    const keys = await start({ relaySecret: failing, removeSecrets: () => Promise.resolve() });
    const { current } = keys;
    fails = true;
    clock.advance(TICKET_KEY_MS / 2);
    await new Promise(setImmediate);
    assert.equal(keys.current, current);
    fails = false;
    const change = next(keys);
    clock.advance(STORE_RETRY_MS);
    assert.notDeepEqual(await change, current);
  });

  it('no longer change once they are stopped', async () => {
    const keys = await start();
    keys.stop();
    assert.equal(clock.pending, 0);
  });
});

function next(keys: TicketKeys): Promise<Buffer> {
  return new Promise((resolve) => keys.follow(resolve));
}

describe('CertificateWatch', () => {
  const clock = new FakeClock();
  let folder: string;
  let used: number;
  let logged: Parameters<Log>[];

  beforeEach(() => {
    folder = temporaryDirectory();
    used = 0;
    logged = [];
  });

  /** Certifies the hours from now, and writes the files. */
  async function renew(from: number, until: number): Promise<void> {
    const key = await newKey();
    const now = clock.now();
    const times = { from: now + from * HOUR_MS, until: now + until * HOUR_MS };
    const content = { names: ['a.test'], publicKey: publicKeyOf(key), ...times, extensions: [] };
    writeFileSync(join(folder, 'cert'), certificate(content, key));
    writeFileSync(join(folder, 'key'), pemOf(key));
  }

  async function watch(): Promise<CertificateWatch> {
    const files = {
      cert: { path: join(folder, 'cert'), setting: 'CULVERT_TLS_CERT' },
      key: { path: join(folder, 'key'), setting: 'CULVERT_TLS_KEY' },
    };
    return new CertificateWatch(
      files,
      await readKeyPair(files),
      () => (used += 1),
      clock,
      (...line) => {
        logged.push(line);
      },
    );
  }

  for (const [what, from, until, why] of [
    ['has expired', -2, -1, /^CULVERT_TLS_CERT: .*cert: it expired at 2/],
    ['is not valid yet', 1, 2, /^CULVERT_TLS_CERT: .*cert: it is not valid before 2/],
  ] as const)
    it(`keeps a good certificate when the new one ${what}, and warns once`, async () => {
      await renew(-1, 5);
      const watched = await watch();
      await renew(from, until);
      for (const _ of [1, 2]) await watched.reload();
      assert.deepEqual(
        logged.map(([event]) => event),
        ['certificate refused'],
      );
      assert.match(String(logged[0]?.[1]?.['reason']), why);
      assert.deepEqual([used, Math.round(watched.secondsLeft / 3600)], [0, 5]);
    });

  it('loads a certificate when its time has begun', async () => {
    await renew(-1, 5);
    const watched = await watch();
    await renew(1, 9);
    await watched.reload();
    clock.advance(HOUR_MS);
    await watched.reload();
    assert.deepEqual([used, logged.at(-1)?.[0]], [1, 'certificate loaded']);
  });

  it('warns when the only certificate expires', async () => {
    await renew(-1, 1);
    const watched = await watch();
    await watched.reload();
    assert.deepEqual(logged, []);
    clock.advance(HOUR_MS);
    await watched.reload();
    assert.deepEqual([logged.length, logged[0]?.[0], watched.secondsLeft], [1, 'certificate refused', 0]);
  });
});

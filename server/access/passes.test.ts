import assert from 'node:assert/strict';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import { STORE_RETRY_MS, StoreError } from '../store/store-errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  KeyRing,
  KNOWN_PASSES_MAX,
  LinkTokens,
  PASS_KEY_MS,
  PASS_SECONDS,
  Passes,
  type PassKeys,
  type PassScope,
  passScope,
  type SignedLink,
} from './passes.ts';

const NOW = Date.UTC(2026, 10, 1);
const END = NOW / 1000 + 60;
const SCOPE: PassScope = { tunnelId: 'one', version: 'v1', form: 'host' };

describe('Passes', () => {
  let keys: PassKeys;
  let passes: Passes;

  beforeEach(() => {
    keys = { current: 'key', others: [] };
    passes = new Passes('visit', () => keys);
  });

  it('name their visitor, with any characters, until their end', () => {
    for (const who of ['basic:ann', 'link:for the review', 'password', 'link:Ünïcode 🦊', '']) {
      const value = passes.make(SCOPE, who, END);
      assert.match(value, /^[\w.-]+$/);
      assert.equal(passes.read(value, SCOPE, NOW, 'acme')?.who, who);
      assert.equal(passes.read(value, SCOPE, END * 1000 - 1, 'acme')?.who, who);
      assert.deepEqual(passes.read(value, SCOPE, NOW, 'acme')?.end, END * 1000);
      assert.equal(passes.read(value, SCOPE, END * 1000, 'acme'), undefined);
    }
  });

  it('are valid for one tunnel, one access policy, one form of the address and one host of a wildcard tunnel', () => {
    const wild = passScope('one', 'v1', { prefix: '', host: 'a.test' });
    for (const [scope, others] of [
      [SCOPE, [{ tunnelId: 'two' }, { version: 'v2' }, { form: 'path' }, { host: 'a.test' }]],
      [wild, [{ host: 'b.test' }, { host: undefined }]],
    ] as const) {
      const value = passes.make(scope, 'password', END);
      assert.equal(passes.read(value, scope, NOW, 'acme')?.who, 'password');
      for (const other of others)
        assert.equal(passes.read(value, { ...scope, ...other }, NOW, 'acme'), undefined);
    }
    const byPath = passScope('one', 'v1', { prefix: '/t/x', host: 'a.test' });
    assert.deepEqual(byPath, { tunnelId: 'one', version: 'v1', form: 'path' });
  });

  it('cannot be forged or changed', () => {
    const [kind = '', end = '', who = '', mac = ''] = passes.make(SCOPE, 'basic:ann', END).split('.');
    const other = Buffer.from('basic:bob').toString('base64url');
    const forged = [
      '',
      '...',
      `${kind}.${end}.${who}.`,
      `${kind}.${end}.${who}.${'A'.repeat(43)}`,
      `link.${end}.${who}.${mac}`,
      `${kind}.${Number(end) + 1}.${who}.${mac}`,
      `${kind}.0${end}.${who}.${mac}`,
      `${kind}.${end}.${other}.${mac}`,
      `${kind}.${end}.${who}.${mac}.`,
      `${kind}.${end}.${'A'.repeat(401)}.${mac}`,
    ];
    for (const value of forged) assert.equal(passes.read(value, SCOPE, NOW, 'acme'), undefined, value);
  });

  it('of one kind are not valid as the other, under the same key', () => {
    const links = new Passes('lasting', () => keys);
    assert.equal(links.read(passes.make(SCOPE, 'password', END), SCOPE, NOW, 'acme'), undefined);
    assert.equal(passes.read(links.make(SCOPE, 'link', END), SCOPE, NOW, 'acme'), undefined);
    assert.equal(links.read(links.make(SCOPE, 'link', END), SCOPE, NOW, 'acme')?.who, 'link');
  });

  it('of the previous key are valid as long as that key is', () => {
    const value = passes.make(SCOPE, 'password', END);
    keys = { current: 'new', others: ['old', 'key'] };
    passes.forget();
    assert.equal(passes.read(value, SCOPE, NOW, 'acme')?.who, 'password');
    keys = { current: 'new', others: ['old'] };
    passes.forget();
    assert.equal(passes.read(value, SCOPE, NOW, 'acme'), undefined);
  });

  it('are remembered up to a limit, and valid beyond it, but those of another account stay', () => {
    for (const other of ['acme', 'other']) {
      const first = passes.make(SCOPE, other, END);
      assert.equal(passes.read(first, SCOPE, NOW, other)?.who, other);
      for (let index = 0; index <= KNOWN_PASSES_MAX; index += 1)
        passes.read(passes.make(SCOPE, String(index), END), SCOPE, NOW, 'acme');
      assert.equal(passes.known, KNOWN_PASSES_MAX);
      // With other keys, only what is remembered is valid.
      if (other === 'other') keys = { current: 'new', others: [] };
      assert.equal(passes.read(first, SCOPE, NOW, other)?.who, other);
    }
  });
});

const HOUR = 3600_000;

describe('KeyRing', () => {
  let clock: FakeClock;
  let fails: boolean;
  let changes: number;
  /** number of times all secrets were renewed */
  let renewals: number;
  let removed: [prefix: string, before: number][];
  let ring: KeyRing;

  beforeEach(async () => {
    clock = new FakeClock();
    clock.advance(PASS_KEY_MS - (clock.now() % PASS_KEY_MS) + 24 * HOUR);
    fails = false;
    changes = 0;
    renewals = 0;
    removed = [];
    ring = ringOf('pass', PASS_SECONDS * 1000);
    await ring.start();
  });

  function ringOf(name: string, lifetime: number): KeyRing {
    return new KeyRing({
      store: {
        relaySecret: (secret) =>
          fails
            ? Promise.reject(new StoreError('down'))
            : Promise.resolve(`secret of ${secret}${'!'.repeat(renewals)}`),
        removeSecrets: (prefix, before) => Promise.resolve(void removed.push([prefix, before])),
      },
      name,
      lifetime,
      clock,
      changed: () => (changes += 1),
    });
  }

  afterEach(() => ring.stop());

  /** Lets ms pass, and waits for the answers of the store. */
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }

  /** Weeks of the current key and of the accepted ones, relative to the first, which began a day ago. Times are in hours. */
  for (const [title, name, lifetime, script] of [
    [
      'has a new key each week, and accepts the previous one for 12 h and the next one an hour early',
      'pass',
      PASS_SECONDS * 1000,
      '+0: 0; +143: 0 accepts 1; +1: 1 accepts 0; +12: 1',
    ],
    [
      'accepts keys of earlier weeks as long as anything signed with them may be valid',
      'links',
      30 * 24 * HOUR,
      // One day into the week, the fifth one before ended 29 days ago.
      '+0: 0 accepts -1 -2 -3 -4 -5; +24: 0 accepts -1 -2 -3 -4; +119: 0 accepts 1 -1 -2 -3 -4; +1: 1 accepts 0 -1 -2 -3 -4',
    ],
  ] as const)
    it(title, async () => {
      const other = ringOf(name, lifetime);
      await other.start();
      const week = Math.floor(clock.now() / PASS_KEY_MS);
      const weekOf = (secret: string): number => Number(secret.replace(`secret of ${name} `, '')) - week;
      let before = changes;
      await checkAsyncScript(script, async (step) => {
        await pass(Number(step) * HOUR);
        // Both rings have changed, unless this is the only one.
        assert.equal(changes > before, step !== '+0');
        before = changes;
        const accepted = other.keys.others.map(weekOf);
        return `${weekOf(other.keys.current)}${accepted.length > 0 ? ` accepts ${accepted.join(' ')}` : ''}`;
      });
      other.stop();
    });

  it('refuses a key for a tunnel that was created an hour after its week or later', async () => {
    const links = ringOf('links', 30 * 24 * HOUR);
    await links.start();
    const begin = clock.now() - 24 * HOUR;
    const week = Math.floor(clock.now() / PASS_KEY_MS);
    const others = (madeAt: number): readonly string[] => links.keysSince(madeAt).others;
    assert.deepEqual(others(begin + HOUR), []);
    assert.deepEqual(others(begin + HOUR - 1), [`secret of links ${week - 1}`]);
    assert.deepEqual(
      others(begin - PASS_KEY_MS),
      [1, 2].map((ago) => `secret of links ${week - ago}`),
    );
    assert.equal(links.keysSince(clock.now()).current, `secret of links ${week}`);
    links.stop();
  });

  it('removes the secrets of keys that have expired', async () => {
    await pass(6 * 24 * HOUR);
    const [prefix, before] = removed.at(-1) ?? [];
    assert.equal(prefix, 'pass ');
    // Created an hour before the week that has just begun, or later, or for the week before.
    assert.ok(before !== undefined && before < clock.now() - PASS_KEY_MS - PASS_SECONDS * 1000 - HOUR);
  });

  it('reloads renewed secrets, and reports only actual changes', async () => {
    const before = ring.keys;
    await ring.reload();
    assert.equal(changes, 0);
    renewals = 1;
    await ring.reload();
    assert.deepEqual([ring.keys.current, changes], [`${before.current}!`, 1]);
    fails = true;
    await assert.rejects(ring.reload(), StoreError);
  });

  it('keeps using its keys while the store fails, and asks it again every 10 s', async () => {
    const before = ring.keys;
    fails = true;
    await pass(6 * 24 * HOUR);
    assert.deepEqual(ring.keys, before);
    fails = false;
    await pass(STORE_RETRY_MS);
    assert.notDeepEqual(ring.keys, before);
  });
});

/** The tunnels of the tests. */
const ONE = { linkScope: 'one', linksSince: NOW - 1000 };
const TWO = { linkScope: 'two', linksSince: NOW - 1000 };
const LINK: SignedLink = { id: '0123456789abcdef', note: 'for the review', end: NOW / 1000 + 60 };

describe('LinkTokens', () => {
  const keys = { current: 'secret', others: [] };
  const tokens = new LinkTokens(() => keys);

  it('identify their link, whatever its note contains, until its end', () => {
    for (const note of ['', 'for the review', 'Ünïcode 🦊 %00 \u0085?&#', '🦊'.repeat(64)]) {
      const link = { ...LINK, note };
      const token = tokens.make('one', link);
      assert.match(token, /^[\w.-]+$/);
      assert.deepEqual(tokens.read(token, ONE, NOW), link);
      assert.deepEqual(tokens.read(token, ONE, LINK.end * 1000 - 1), link);
      assert.equal(tokens.read(token, ONE, LINK.end * 1000), undefined);
    }
  });

  it('are valid for one tunnel', () => {
    assert.equal(tokens.read(tokens.make('one', LINK), TWO, NOW), undefined);
  });

  it('cannot be forged, changed, cut or recombined', () => {
    const good = tokens.make('one', LINK);
    const [id = '', end = '', note = '', mac = ''] = good.split('.');
    const later = tokens.make('one', { ...LINK, end: LINK.end + 1 });
    const forged = [
      '',
      '...',
      good.toUpperCase(),
      ` ${good}`,
      `${good}%20`,
      `${good}.`,
      `${good}=`,
      good.slice(0, -1),
      `0${good}`,
      `${id}.${LINK.end + 1}.${note}.${mac}`,
      `${id}.0${end}.${note}.${mac}`,
      `fedcba9876543210.${end}.${note}.${mac}`,
      `${id}.${end}.${Buffer.from('the boss').toString('base64url')}.${mac}`,
      `${id}.${end}..${mac}`,
      `${id}.${end}.${note}.${later.split('.')[3]}`,
      `${id}.${end}.${note}.${'A'.repeat(43)}`,
      `${id}.1e99.${note}.${mac}`,
      new LinkTokens(() => ({ current: 'another', others: [] })).make('one', LINK),
    ];
    for (const token of forged) assert.equal(tokens.read(token, ONE, NOW), undefined, token);
  });

  it('of earlier keys are valid for tunnels that existed then', () => {
    const old = new LinkTokens(() => ({ current: 'old', others: [] })).make('one', LINK);
    const later = new LinkTokens((since) => ({
      current: 'new',
      others: since < NOW ? ['older', 'old'] : [],
    }));
    assert.deepEqual(later.read(old, ONE, NOW), LINK);
    assert.equal(later.read(old, { ...ONE, linksSince: NOW }, NOW), undefined);
    assert.deepEqual(later.read(later.make('one', LINK), { ...ONE, linksSince: NOW }, NOW), LINK);
  });
});

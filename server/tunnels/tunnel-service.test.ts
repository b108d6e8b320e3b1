import assert from 'node:assert/strict';
import { NAME_PATTERN } from '../../shared/value-rules.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import type { TunnelRecord } from '../store/records.ts';
import { ConflictError, StoreError, UnansweredError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { anAccess, aTunnel, aTunnelService, aWish, CALLER, ofTunnels } from '../testing/fixtures.ts';
import { type Side, TunnelWorld } from '../testing/tunnel-script.ts';
import { TcpPorts } from './tcp-ports.ts';
import { randomSlug, SLUG_ATTEMPTS, SLUG_BITS, type TunnelService } from './tunnel-service.ts';

const HOUR = 3_600_000;
const FREE_TUNNELS = PLAN_RULES.free.maxTunnels ?? 0;

/** By subject and title. */
const SCRIPTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  create: {
    'gives a name to only one of two simultaneous requests':
      'create web & stranger create web: 3600 left, 409 name already in use',
    "refuses a name that is an account's subdomain, and does not reserve it":
      'create acme: 409 name already in use; known: none / none',
    'leaves nothing behind when the store fails':
      'down; create web: 503 service unavailable; up; known: none / none; create web: 3600 left',
  },
  close: {
    'ends a tunnel and frees its name': `create web: 3600 left; close web: web closed; known: none / none;
      get web: 404 tunnel not found; create web: 3600 left`,
    "does not close another account's tunnel":
      'stranger create web: 3600 left; close web: 404 tunnel not found; known: web / web',
    // Either may be first if the store has several connections.
    'succeeds for only one of two simultaneous requests':
      'create web: 3600 left; close web & close web: 404 tunnel not found, web closed',
  },
  takeOver: {
    'gives the tunnel the requested port and lifetime, even an earlier end': `create web 14400: 14400 left;
      +3600; take web 4000 60 idle; show web: 0 bytes, 3600 old, 60 left, idle, port 4000, ttl 60;
      +60: web expired`,
    'is known to a restarted relay': `create web: 3600 left; +1; take web 4000 7200; restart;
      show web: 0 bytes, 1 old, 7200 left, port 4000, ttl 7200`,
  },
  extend: {
    "moves the expiry by the tunnel's own ttl, or by another": `create web: 3600 left; extend web: 7200 left;
      extend web 60: 7260 left; restart; get web: 7260 left`,
    'loses none of several simultaneous extensions': `create web: 3600 left;
      extend web 1 & extend web 2 & extend web 3: 3606 left, 3606 left, 3606 left`,
    'goes no further than now plus the maximum': `create web: 3600 left;
      extend web 601201: 400 ttl must be at most 168h0m0s; extend web 601200: 604800 left`,
    'counts traffic that is not stored yet': `create web idle: 3600 left; +1800; traffic web;
      extend web 601201: 400 ttl must be at most 168h0m0s; extend web 601200: 604800 left`,
    'continues after one that failed': `create web: 3600 left;
      extend web 604800 & extend web 60: 3660 left, 400 ttl must be at most 168h0m0s`,
    'does not revive a tunnel that was closed at the same time': `create web: 3600 left;
      close web & extend web 60: 404 tunnel not found, web closed; known: none / none`,
    'goes as far as the plan allows': `free create web: 3600 left;
      free extend web 86400: 400 ttl must be at most 24h0m0s`,
  },
  'a failing store': {
    'changes nothing': `create web: 3600 left; down; close web: 503 service unavailable;
      take web 4000: 503 service unavailable; extend web 60: 503 service unavailable;
      show web: 0 bytes, 0 old, 3600 left, port 3000, ttl 3600`,
    'does not prevent an expiry':
      'create web: 3600 left; down; +3600: web expired; get web: 404 tunnel not found',
  },
  'an expiry': {
    'frees the name immediately':
      'create web: 3600 left; +3600: web expired; stranger create web: 3600 left; known: web / web',
  },
  start: {
    'restores acknowledged tunnels, with their counters and deadlines': `create web: 3600 left; traffic web 10;
      stop; +1800; start; show web: 10 bytes, 1800 left, 1800 old, port 3000, ttl 3600; +1800: web expired`,
    'removes tunnels that have expired': 'create web: 3600 left; stop; +3600; start; known: none / none',
  },
  'a change of the wall clock': {
    'counts at the next start, because no other clock has measured the time: an expired tunnel is not revived': `create web: 3600 left;
      jump 2592000; restart; known: none / none; jump -2592000; restart; known: none / none`,
    'does not revive at the next start what expired before it':
      'create web: 3600 left; +3600: web expired; stop; jump -7200; start; known: none / none',
  },
};

for (const jump of [3600, -3600, 2_592_000])
  Object.assign(SCRIPTS['a change of the wall clock'] ?? {}, {
    [`by ${jump} s does not change how far a life can be extended`]: `create web: 3600 left; jump ${jump};
      extend web 601200: ${604_800 - jump} left; extend web 1: 400 ttl must be at most 168h0m0s`,
    [`by ${jump} s and back again is forgotten, also by a relay that starts after it`]: `create web idle: 3600 left;
      jump ${jump}; +900; traffic web; jump ${-jump}; restart; +3599.999; +0.001: web expired`,
  });

const NAMES: Readonly<Record<string, string>> = {
  'is reserved for its account after a close, also after a restart': `create web: 3600 left; close web: web closed;
    stranger create web: 409 name already in use; restart; +86399.999;
    stranger create web: 409 name already in use; +0.001; stranger create web: 3600 left`,
  'is reserved for its account after an expiry, counted from then': `create web: 3600 left; +3600: web expired;
    stranger create web: 409 name already in use; +86399.999; stranger create web: 409 name already in use;
    +0.001; stranger create web: 3600 left`,
  'is reserved for its account if it expired while no relay was running': `create web: 3600 left; stop; +7200; start;
    stranger create web: 409 name already in use; +82799.999; stranger create web: 409 name already in use;
    +0.001; stranger create web: 3600 left`,
  'is immediately available to its own account':
    'create web: 3600 left; close web: web closed; create web: 3600 left',
  'is not assigned while the store fails': 'down; stranger create web: 503 service unavailable',
};

describe('TunnelService', () => {
  let world: TunnelWorld;
  let service: TunnelService;
  let side: Side;

  beforeEach(() => begin());
  afterEach(() => world.stop());

  async function begin(nameHold = 0): Promise<void> {
    world = await TunnelWorld.start({ nameHold });
    [side] = world.sides as [Side];
    ({ service } = side);
  }

  for (const [subject, rows] of Object.entries(SCRIPTS))
    describe(subject, () => {
      for (const [title, script] of Object.entries(rows)) it(title, () => world.check(script));
    });

  describe('the name of an ended tunnel', () => {
    beforeEach(async () => {
      await world.stop();
      await begin(24 * 3600);
    });

    for (const [title, script] of Object.entries(NAMES)) it(title, () => world.check(script));

    it('is reserved even if it was generated', async () => {
      const { id, slug } = await service.create(world.account, aWish());
      await service.close(world.account, id, CALLER);
      await assert.rejects(service.create(world.stranger, aWish({ name: slug })), { status: 409 });
    });
  });

  describe('create', () => {
    it('creates a tunnel that routing finds and that is stored', async () => {
      const { account, clock, test } = world;
      const tunnel = await service.create(account, aWish({ name: 'web', idleTtl: true }));
      assert.equal(side.registry.bySlug('web'), tunnel);
      const { localPort, ttl, idle } = tunnel.terms;
      assert.deepEqual([localPort, ttl, idle, tunnel.name], [3000, 3600, true, 'web']);
      assert.deepEqual([tunnel.createdAt, tunnel.expiresAt], [clock.now(), clock.now() + HOUR]);
      assert.deepEqual(await ofTunnels(test.store, 'slug'), ['web']);
      const { name, slug } = await service.create(account, aWish());
      assert.match(`${name} ${slug}`, /^ [a-z]{4}(?:-[a-z]{4}){3}$/);
    });

    it('applies changes of the account that happen while the tunnel is being stored', async () => {
      const creating = service.create(world.account, aWish());
      assert.ok(new Set(service.accountIds()).has(world.account.id));
      service.updateAccount({ ...world.account, suspended: 'spam' });
      assert.equal((await creating).account.suspended, 'spam');
    });

    it('gives up if every slug it draws is taken', async () => {
      const draws: string[] = [];
      const insertTunnel = ({ slug }: TunnelRecord) => {
        draws.push(slug);
        return Promise.reject(new ConflictError('slug'));
      };
      const store = { ...world.test.store, insertTunnel };
      const unlucky = aTunnelService({ store, clock: world.clock });
      await assert.rejects(unlucky.create(world.account, aWish()), { status: 409 });
      assert.equal(new Set(draws).size, SLUG_ATTEMPTS);
      await assert.rejects(unlucky.create(world.account, aWish({ name: 'web' })), { status: 409 });
      assert.deepEqual(draws.slice(SLUG_ATTEMPTS), ['web']);
    });

    it('refuses a reserved name', async () => {
      await assert.rejects(service.create(world.account, aWish({ name: 'www' })), {
        status: 409,
        body: { error: 'name already in use', code: 'name-reserved' },
      });
    });

    it('removes the tunnel again if the store did not confirm it', async () => {
      const { account, clock, test } = world;
      const insert = test.store.insertTunnel.bind(test.store);
      const unanswered = new StoreError(new UnansweredError(new Error('connection lost')));
      const store = new Proxy(test.store, {
        get: (target, property: keyof Store) =>
          property === 'insertTunnel'
            ? (tunnel: TunnelRecord) => insert(tunnel).then(() => Promise.reject(unanswered))
            : target[property].bind(target),
      });
      const cut = aTunnelService({ store, registry: side.registry, clock, nameHold: 3600 });
      await assert.rejects(cut.create(account, aWish({ name: 'web' })), { status: 503 });
      assert.deepEqual(await ofTunnels(test.store, 'slug'), ['web']);
      await cut.stop();
      await world.check('known: none / none; stranger create web: 3600 left');
    });

    it('has another port if a program uses the first one, also with a name', async () => {
      const { account, clock, test } = world;
      const range = { first: 10_000, last: 10_001 };
      const ports = new TcpPorts({ range, host: '127.0.0.1', isShared: false, clock, log: () => {} });
      ports.bind = (port) => Promise.resolve(port !== range.first);
      const own = aTunnelService({ store: test.store, registry: side.registry, clock, ports });
      for (let time = 0; time < 20; time += 1) {
        const { id, remotePort } = await own.create(account, aWish({ name: 'db', protocol: 'tcp' }));
        assert.equal(remotePort, range.last);
        await own.close(account, id, CALLER);
      }
      await own.stop();
    });

    it('refuses what only the store knows about: that the plan is used up, or a name in use', async () => {
      const { free, stranger, clock, test } = world;
      const expiresAt = clock.now() + 60_000;
      for (let left = FREE_TUNNELS; left > 0; left -= 1)
        await test.store.insertTunnel(aTunnel(free.id, { expiresAt }));
      await assert.rejects(service.create(free, aWish()), { status: 403 });
      await test.store.insertTunnel(aTunnel(stranger.id, { slug: 'web', expiresAt: clock.now() }));
      await world.check('create web: 409 name already in use');
      assert.equal(side.registry.size, 0);
    });
  });

  it("lists an account's own tunnels, newest first, and does not distinguish an unknown tunnel from another account's", async () => {
    for (const name of ['one', 'two', 'three']) await service.create(world.account, aWish({ name }));
    const { id } = await service.create(world.stranger, aWish({ name: 'other' }));
    const names = service.list(world.account).map((tunnel) => tunnel.name);
    assert.deepEqual(names, ['three', 'two', 'one']);
    for (const asked of [id, 'unknown', ''])
      assert.throws(() => service.get(world.account, asked), { status: 404, message: 'tunnel not found' });
  });

  it('replaces the access policy on a takeover', async () => {
    const tunnel = await service.create(world.account, aWish({ name: 'web' }));
    await service.takeOver(tunnel, aWish({ access: { access: anAccess({ links: true }), kept: [] } }));
    assert.deepEqual(tunnel.access?.view(new Map()), { links: true });
    await service.takeOver(tunnel, aWish());
    assert.deepEqual([tunnel.access, side.changed], [undefined, ['web', 'web']]);
  });

  it('takes over no tunnel of another account, no expired one, and none without a requested name', async () => {
    const { account, stranger } = world;
    const want = { ...aWish({ name: 'web' }), takeOver: true };
    const tunnel = await service.create(account, aWish({ name: 'web' }));
    const random = await service.create(account, aWish());
    assert.equal(service.findExisting(account, want), tunnel);
    for (const change of [{ takeOver: false }, { name: random.slug }, { name: '' }])
      assert.equal(service.findExisting(account, { ...want, ...change }), undefined);
    assert.equal(service.findExisting(stranger, want), undefined);
    world.clock.advance(HOUR);
    assert.equal(service.findExisting(account, want), undefined);
  });

  it('limits the tunnels of a plan, however many are requested at the same time', async () => {
    const { account, free } = world;
    service.assertCapacity(free);
    const results = await Promise.allSettled(
      Array.from({ length: FREE_TUNNELS + 5 }, (_, count) =>
        service.create(free, aWish({ ttl: 3600 - count })),
      ),
    );
    // Which of them are stored is the database's choice.
    const next = service
      .list(free)
      .map(({ expiresAt }) => expiresAt)
      .toSorted((one, other) => one - other)
      .map((expiresAt) => new Date(expiresAt).toISOString())[0];
    const refusal = {
      status: 403,
      message: `the Free plan allows ${FREE_TUNNELS} tunnels at a time; close one, or wait until ${next}, when the next one expires`,
    };
    const refused = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    assert.equal(refused.length, 5);
    for (const error of refused)
      assert.throws(() => {
        throw error;
      }, refusal);
    assert.throws(() => service.assertCapacity(free), refusal);
    service.assertCapacity(account);
    const [last] = service.list(free);
    await service.close(free, last?.id ?? '', CALLER);
    service.assertCapacity(free);
  });

  it('applies a changed plan to the tunnels of the account', async () => {
    const tunnel = await service.create(world.free, aWish());
    const dev = { ...world.free, plan: 'dev' } as const;
    await service.extend(dev, tunnel.id, 24 * 3600, CALLER);
    service.updateAccount(dev);
    assert.equal(tunnel.account.plan, 'dev');
  });

  it('ends the tunnels of a deleted account, and no others', async () => {
    const { account, stranger } = world;
    await world.check('create one: 3600 left; stranger create other: 3600 left');
    assert.deepEqual(new Set(service.accountIds()), new Set([account.id, stranger.id]));
    service.endAccount(account.id);
    assert.deepEqual(side.ended, [['one', 'removed']]);
    assert.deepEqual(new Set(service.accountIds()), new Set([stranger.id]));
  });

  it('has no timer left after stop', async () => {
    await world.check('create web: 3600 left; stop');
    assert.equal(world.clock.pending, 0);
  });
});

describe('randomSlug', () => {
  it('has at least 50 random bits', () => {
    assert.ok(SLUG_BITS >= 50, `${SLUG_BITS} bits`);
  });

  it('has those bits because each of its 8 draws out of 80 gives another slug', () => {
    const slugs = new Set<string>();
    for (let changed = 0; changed < 8; changed += 1) {
      for (let value = 0; value < 80; value += 1) {
        let draws = 0;
        const slug = randomSlug((below) => {
          assert.equal(below, 80);
          draws += 1;
          return draws - 1 === changed ? value : 0;
        });
        assert.equal(draws, 8);
        slugs.add(slug);
      }
    }
    // 8 times 79 values other than 0, and the one of all zeros.
    assert.equal(slugs.size, 8 * 79 + 1);
  });

  it('reads as four short words', () => {
    for (let i = 0; i < 200; i += 1) {
      const slug = randomSlug();
      assert.match(slug, /^(?:[a-z][aeiou]){2}(?:-(?:[a-z][aeiou]){2}){3}$/);
      assert.match(slug, NAME_PATTERN);
    }
  });
});

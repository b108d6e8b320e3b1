import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { OPEN } from '../../../shared/access.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { fakeHost } from '../../testing/served.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { NameInUse } from '../failures.ts';
import type { InspectedTunnel } from '../methods/log-methods.ts';
import { localPort } from '../local/local-service.ts';
import { toMessage } from '../messages.ts';
import { NamesUnsupported, RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import { NotSaved, OwnerLeft } from './host.ts';
import { RelayCloser } from './relay-closer.ts';

const wanted = (name?: string) => ({ settings: { ...SPEC, name }, access: OPEN });
const refusal = (status: number, retryAfterMs: number) => new RelayRefusal(status, 'no', { retryAfterMs });

/** A host whose relay refuses creates with these statuses first; `asked` are the names of all creates. */
function refusing(statuses: number[], options?: Parameters<typeof fakeHost>[0], retryAfterMs = 6000) {
  const made = fakeHost(options);
  const asked: string[] = [];
  const create = made.api.createTunnel.bind(made.api);
  made.api.createTunnel = (request) => {
    asked.push(request.name ?? '-');
    const status = statuses.shift();
    return status === undefined ? create(request) : Promise.reject(refusal(status, retryAfterMs));
  };
  return { ...made, asked };
}

describe('Host', () => {
  it('stores a tunnel before it is served, and closes one that cannot be stored', async () => {
    const events: string[] = [];
    const { host, serve } = fakeHost({
      save: () => Promise.resolve(void events.push(`${serve.all.length}`)),
    });
    await host.create(wanted());
    assert.deepEqual([events, serve.all.length], [['0'], 1]);
    const full = fakeHost({ save: () => Promise.reject(new Error('the disk is full')) });
    await assert.rejects(full.host.create(wanted()), NotSaved);
    assert.deepEqual([full.api.calls, full.serve.all], [['create 3000', 'close 1'], []]);
  });

  it('closes the target of a tunnel that was not created', async () => {
    const { host, api } = fakeHost();
    api.failure = new RelayUnreachable('gone');
    let closes = 0;
    const target = { local: localPort(3000), close: () => Promise.resolve(void (closes += 1)) };
    await assert.rejects(host.create({ ...wanted(), target }), RelayUnreachable);
    assert.equal(closes, 1);
  });

  it('takes a name over only if it may', async () => {
    const { host, api } = fakeHost();
    const requests: object[] = [];
    const create = api.createTunnel.bind(api);
    api.createTunnel = (request) => (requests.push(request), create(request));
    await host.create({ ...wanted('shop'), claim: 'take-over' });
    const inUse = new NameInUse('shop', 'online', 'file');
    await assert.rejects(host.create({ ...wanted('shop'), claim: inUse }), inUse);
    assert.deepEqual(
      requests.map((request) => 'take_over' in request),
      [true],
    );
  });

  it('keeps a name before the tunnel opens, and leaves the message that is wanted', async () => {
    const { host, api } = fakeHost();
    const keep = (away?: string) => {
      const { settings, access } = wanted('shop');
      return host.create({ settings: { ...settings, keep: { away } }, access });
    };
    for (const away of [undefined, 'Later.', 'Later.']) await keep(away);
    const calls = 'keep shop,create 3000,keep shop,change shop,create 3000,keep shop,create 3000';
    assert.equal(api.calls.join(), calls);
    assert.equal(api.names[0]?.away, 'Later.');
  });

  it('opens no tunnel whose name cannot be kept', async () => {
    const { host, api } = fakeHost();
    for (const [code, thrown] of [
      ['not-found', NamesUnsupported],
      ['too-many-names', RelayRefusal],
    ] as const) {
      api.keepName = () => Promise.reject(new RelayRefusal(code === 'not-found' ? 404 : 403, 'no', { code }));
      const { settings, access } = wanted('shop');
      await assert.rejects(
        host.create({ settings: { ...settings, keep: { away: undefined } }, access }),
        thrown,
      );
    }
    assert.deepEqual(api.tunnels, []);
  });

  it('waits in turn while the relay limits creates, and only if it is to', async () => {
    const { host, clock, asked } = refusing([429, 429, 429]);
    await assert.rejects(host.create(wanted('a')), RelayRefusal);
    const waits: number[] = [];
    const patience = {
      clock,
      interrupted: new AbortController().signal,
      onWait: (ms: number) => waits.push(ms),
    };
    const both = ['b', 'c'].map((name) => host.create({ ...wanted(name), patience }));
    for (let wait = 0; wait < 2; wait += 1) {
      await turn();
      clock.advance(6000);
    }
    const slugs = (await Promise.all(both)).map(({ tunnel }) => tunnel.slug);
    assert.deepEqual(
      [asked, waits, slugs],
      [
        ['a', 'b', 'b', 'b', 'c'],
        [6000, 6000],
        ['b', 'c'],
      ],
    );
  });

  it('waits at most a minute, and 10 times', async () => {
    const { host, clock, asked } = refusing(
      Array.from({ length: 20 }, () => 429),
      {},
      600_000,
    );
    const patience = { clock, interrupted: new AbortController().signal };
    const created = host.create({ ...wanted('a'), patience });
    for (let wait = 0; wait < 10; wait += 1) {
      await turn();
      assert.deepEqual(clock.waiting, [60_000]);
      clock.advance(60_000);
    }
    await assert.rejects(created, RelayRefusal);
    assert.equal(asked.length, 11);
  });

  it('does without a name that nobody asked for', async () => {
    for (const status of [400, 403, 409]) {
      const { host, asked } = refusing([status]);
      const { tunnel } = await host.create({ ...wanted('shop'), isNameOptional: true });
      assert.deepEqual([asked, tunnel.name], [['shop', '-'], '']);
      const strict = refusing([status]);
      await assert.rejects(strict.host.create(wanted('shop')), RelayRefusal);
    }
    const gone = refusing([503]);
    await assert.rejects(gone.host.create({ ...wanted('shop'), isNameOptional: true }), RelayRefusal);
    assert.deepEqual(gone.asked, ['shop']);
  });

  it('makes room once for a tunnel whose name or place in the plan is taken', async () => {
    for (const [room, status, tries] of [
      [true, 409, 2],
      [true, 403, 2],
      [false, 409, 1],
      [true, 503, 1],
    ] as const) {
      const { host, asked } = refusing([status], { makeRoom: () => Promise.resolve(room) });
      const created = host.create(wanted('shop'));
      if (tries === 2) await created;
      else await assert.rejects(created, RelayRefusal);
      assert.equal(asked.length, tries);
    }
  });

  it('keeps as many tunnels as there is room for: the oldest that has ended goes', async () => {
    const { host } = fakeHost({ max: 2 });
    const first = await host.create(wanted('a'));
    await host.create(wanted('b'));
    first.end('stopped', 'It was stopped.');
    await host.create(wanted('c'));
    assert.deepEqual(
      host.tunnels.map(({ tunnel }) => tunnel.slug),
      ['c', 'b'],
    );
  });

  it('closes a tunnel here at once, and at the relay as soon as it can be told', async () => {
    const { host, api, serve, connection } = fakeHost();
    const served = await host.create(wanted());
    api.failure = new RelayUnreachable('gone');
    assert.equal(await host.close(served), api.failure);
    assert.deepEqual([serve.last.isStopped, [...host.unclosed]], [true, [served.tunnel.id]]);
    api.failure = undefined;
    await host.refresh(connection);
    assert.deepEqual([api.tunnels, host.unclosed.size], [[], 0]);
  });

  it('creates an ended tunnel again with the same settings, once the relay knows that the old one is gone', async () => {
    const { host, api, serve } = fakeHost();
    const served = await host.create(wanted('shop'));
    api.failure = new RelayUnreachable('gone');
    await host.close(served);
    api.failure = undefined;
    await host.recreate(served, { ...OPEN, password: 'mild-oak-fern' });
    assert.deepEqual(api.calls, ['create 3000', 'close 1', 'close 1', 'create 3000']);
    assert.deepEqual([served.password, served.tunnel.name, serve.all.length], ['mild-oak-fern', 'shop', 2]);
  });

  it('serves those of an earlier start again, but for those that have ended, unless their key was refused', () => {
    const known = [undefined, 'expired', 'key-refused'] as const;
    const { host, connection } = fakeHost(
      {},
      known.map((reason, index) => ({
        key: `${index}`,
        settings: SPEC,
        tunnel: TUNNEL,
        ended: reason && { reason, why: 'It has ended.' },
      })),
    );
    host.resume(connection);
    assert.deepEqual(
      host.tunnels.map(({ state }) => state.name),
      ['connecting', 'ended', 'connecting'],
    );
  });

  it('gives back what it has abandoned, in place, and serves what was live', async () => {
    const { host, serve } = fakeHost();
    const [a, b] = [await host.create(wanted('a')), await host.create(wanted('b'))];
    a.end('stopped', 'It was stopped.');
    const { live, restore } = host.abandon(toMessage('ended.youSignedOut'));
    assert.deepEqual([live, host.tunnels, serve.last.isStopped], [[b], [], true]);
    restore();
    assert.deepEqual([host.tunnels, a.isEnded, b.state.name], [[b, a], true, 'connecting']);
    const putBack = host.forget(a);
    assert.deepEqual(host.tunnels, [b]);
    putBack();
    assert.deepEqual(host.tunnels, [b, a]);
  });

  it('leaves nothing at a relay that its owner has left while it created a tunnel, or stored it', async () => {
    const { host, api } = fakeHost();
    const creating = host.create(wanted('a'));
    host.abandon(toMessage('ended.youSignedOut'));
    await assert.rejects(creating, OwnerLeft);
    assert.deepEqual([api.tunnels, host.tunnels], [[], []]);

    let abandoned: ReturnType<typeof host.abandon> | undefined;
    const slow = fakeHost({
      save() {
        abandoned = slow.host.abandon(toMessage('ended.youSignedOut'));
        return Promise.resolve();
      },
    });
    const served = await slow.host.create(wanted('b'));
    assert.deepEqual([served.isEnded, slow.serve.all], [true, []]);
    assert.deepEqual(abandoned?.live, [served], 'whoever abandons it closes it, or gives it back');
  });

  it('updates tunnels from the relay, but not from a list that is older than a change', async () => {
    const { host, api, connection } = fakeHost();
    const [one, other] = [await host.create(wanted('a')), await host.create(wanted('b'))];
    api.tunnels = api.tunnels.map((tunnel) => ({ ...tunnel, requests: 7 }));
    const list = host.refresh(connection);
    await host.extend(other, '1h');
    await list;
    assert.deepEqual([one.tunnel.requests, other.tunnel.expires_at], [7, '2026-07-10T14:00:00.000Z']);
  });

  it('shows its tunnels to inspectors while they are served', async () => {
    const inspected = new Set<InspectedTunnel>();
    const inspector = {
      add: (tunnel: InspectedTunnel) => void inspected.add(tunnel),
      remove: (tunnel: InspectedTunnel) => void inspected.delete(tunnel),
    };
    const { host, serve } = fakeHost({ inspector });
    const served = await host.create(wanted('shop'));
    serve.last.onState({ name: 'online' });
    assert.deepEqual([...inspected], [served]);
    served.end('stopped', 'It was stopped.');
    assert.equal(inspected.size, 0);
  });
});

describe('RelayCloser', () => {
  const rows: readonly (readonly [what: string, errors: readonly Error[], calls: number])[] = [
    ['closes once if the relay is reachable', [], 1],
    [
      'retries until the relay confirms',
      [new RelayUnreachable('gone'), new RelayRefusal(503, 'service unavailable')],
      3,
    ],
    ['treats a missing tunnel as closed', [new RelayRefusal(404, 'tunnel not found')], 1],
  ];
  for (const [what, errors, calls] of rows)
    it(what, async () => {
      const rest = [...errors];
      let closes = 0;
      const closeTunnel = (): Promise<void> => {
        closes += 1;
        const error = rest.shift();
        return error === undefined ? Promise.resolve() : Promise.reject(error);
      };
      const closer = new RelayCloser();
      const at = { relay: { origin: 'https://a.example' }, api: { closeTunnel } };
      await closer.close(at, 'a');
      for (let times = 4; times > 0; times -= 1) await closer.retry(at);
      assert.equal(closes, calls);
    });

  it('asks the relay of each tunnel, with the current key if it is the current relay', async () => {
    const asked: string[] = [];
    const at = (key: string, origin: string, isAway = false) => ({
      relay: { origin },
      api: {
        closeTunnel(id: string): Promise<void> {
          asked.push(`${key} closes ${id} at ${origin}`);
          return isAway ? Promise.reject(new RelayUnreachable('gone')) : Promise.resolve();
        },
      },
    });
    const closer = new RelayCloser();
    await closer.close(at('old', 'a', true), 't1');
    await closer.close(at('old', 'b', true), 't2');
    asked.length = 0;
    await closer.retry(at('new', 'a'));
    assert.deepEqual(asked, ['new closes t1 at a', 'old closes t2 at b']);
    assert.deepEqual([...closer.unclosed], ['t2']);
  });
});

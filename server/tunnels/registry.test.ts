import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { aTunnel, anAccount } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { LiveTunnel } from './live-tunnel.ts';
import { TunnelRegistry } from './registry.ts';

describe('TunnelRegistry', () => {
  const account = anAccount();
  let registry: TunnelRegistry;

  beforeEach(() => {
    registry = new TunnelRegistry(new Set(['www']));
  });

  function live(slug: string, owner = account, wildcard = false): LiveTunnel {
    const tunnel = aTunnel(owner.id, { slug, wildcard });
    return new LiveTunnel({ tunnel, account: owner }, new FakeClock(), () => {});
  }

  it('finds a tunnel by slug, by id and by account, until it is removed, once', () => {
    const [tunnel, other] = [live('web'), live('other', anAccount())];
    registry.add(tunnel);
    registry.add(other);
    assert.deepEqual([registry.bySlug('web'), registry.byId(tunnel.id)], [tunnel, tunnel]);
    assert.deepEqual(registry.forAccount(account.id), [tunnel]);
    assert.deepEqual([[...registry.all()], registry.size], [[tunnel, other], 2]);
    assert.deepEqual([registry.remove(tunnel), registry.remove(tunnel)], [true, false]);
    assert.equal(registry.bySlug('web'), undefined);
    assert.deepEqual([registry.forAccount(account.id), registry.size], [[], 1]);
  });

  it('keeps what other accounts have when a tunnel is removed', () => {
    const domain = 'shop.example';
    const [before, after] = [account, anAccount()].map(
      (owner) =>
        new LiveTunnel(
          { tunnel: aTunnel(owner.id, { slug: 'web', domain }), account: owner },
          new FakeClock(),
          () => {},
        ),
    );
    assert.ok(before !== undefined && after !== undefined);
    for (const tunnel of [before, after]) registry.add(tunnel);
    registry.remove(before);
    assert.deepEqual([registry.byDomain(domain), registry.bySlug('web')], [after, after]);
    assert.deepEqual(registry.accountIds(), [after.account.id]);
  });

  it('knows which names no tunnel may have: reserved ones, and those that look like an id', () => {
    const names = ['www', randomUUID(), 'web'];
    assert.deepEqual(
      names.map((slug) => registry.isReserved(slug)),
      [true, true, false],
    );
  });

  it('finds the tunnel at a label: the exact name, then the longest wildcard one', () => {
    const [short, long, exact] = [live('b', account, true), live('a--b', account, true), live('y--a--b')];
    for (const tunnel of [short, long, exact, live('plain')]) registry.add(tunnel);
    const found = ['b', 'x--b', 'a--b', 'x--a--b', 'y--a--b', 'z--y--a--b', 'x--plain', 'plain'].map(
      (label) => registry.byLabel(label)?.slug,
    );
    assert.deepEqual(found, ['b', 'b', 'a--b', 'a--b', 'y--a--b', 'a--b', undefined, 'plain']);
    registry.remove(long);
    assert.equal(registry.byLabel('x--a--b'), short);
  });

  it('knows which wildcard tunnels would have a reserved name', () => {
    const names = new TunnelRegistry(new Set(['www', 'status--acme']));
    assert.deepEqual(
      ['acme', 'www', 'status', 'other'].map((slug) => names.coversReserved(slug)),
      [true, false, false, false],
    );
  });
});

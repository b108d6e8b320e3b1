import assert from 'node:assert/strict';
import { DEFAULT_LOCALE } from '../../i18n/locale.ts';
import { setLocale } from '../../i18n/translate.ts';
import type { TunnelStatus } from '../../shared/snapshot.ts';
import { tunnelView } from '../../testing/views.ts';
import { Outage } from './outage.ts';

const LOST: TunnelStatus = { name: 'reconnecting', retryAt: 0, why: 'No connection to the relay.' };
const ONLINE: TunnelStatus = { name: 'online' };
const ENDED: TunnelStatus = { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' };

describe('Outage', () => {
  let outage: Outage;
  let statuses: TunnelStatus[];
  const look = (now: number, isSeen = false): string[] => {
    const tunnels = statuses.map((status, n) => tunnelView({ key: `k${n}`, slug: `shop-${n}`, status }));
    return outage.look(tunnels, now, isSeen).map(({ title }) => title);
  };
  const all = (status: TunnelStatus): void => void statuses.fill(status);

  beforeEach(() => {
    outage = new Outage();
    statuses = Array.from({ length: 30 }, () => ONLINE);
    look(0);
  });

  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('is one notice for what was lost together, and one for its return', () => {
    all(LOST);
    assert.deepEqual(look(1000), []);
    assert.deepEqual(look(31_000), ['30 tunnels are offline']);
    assert.deepEqual(look(40_000), []);
    all(ONLINE);
    assert.deepEqual(look(41_000), ['All 30 tunnels are back']);
    assert.deepEqual(look(42_000), []);
  });

  it('counts those that were lost a little later, and gives no notice of their own', () => {
    statuses[0] = LOST;
    look(1000);
    all(LOST);
    look(4000);
    assert.deepEqual(look(31_000), ['30 tunnels are offline']);
    assert.deepEqual(look(36_000), []);
  });

  it('tells of one that is lost later on, in place of the first notice', () => {
    statuses[0] = LOST;
    look(1000);
    assert.deepEqual(look(31_000), ['shop-0 is offline']);
    statuses[1] = LOST;
    look(32_000);
    assert.deepEqual(look(62_000), ['2 tunnels are offline']);
  });

  it('is over when the last one is back', () => {
    all(LOST);
    look(1000);
    look(31_000);
    statuses[0] = ONLINE;
    assert.deepEqual(look(32_000), []);
    all(ONLINE);
    assert.deepEqual(look(33_000), ['All 30 tunnels are back']);
  });

  it('is told in the language of the user', () => {
    setLocale({ language: 'de', tag: 'de' });
    all(LOST);
    look(1000);
    assert.deepEqual(look(31_000), ['30 Tunnel sind offline']);
    all(ONLINE);
    assert.deepEqual(look(33_000), ['Alle 30 Tunnel sind wieder da']);
  });

  it('does not count as back what has ended meanwhile', () => {
    all(LOST);
    look(1000);
    look(31_000);
    all(ONLINE);
    statuses[0] = ENDED;
    assert.deepEqual(look(32_000), ['29 tunnels are back']);
    assert.deepEqual(look(33_000), []);
  });

  it('needs no notice while somebody sees it in the window, nor does its end then', () => {
    all(LOST);
    look(1000);
    assert.deepEqual(look(31_000, true), []);
    assert.deepEqual(look(36_000), []);
    all(ONLINE);
    assert.deepEqual(look(37_000), []);
  });

  it('has no notice of its end while somebody sees that', () => {
    all(LOST);
    look(1000);
    look(31_000);
    all(ONLINE);
    assert.deepEqual(look(32_000, true), []);
    assert.deepEqual(look(33_000), []);
  });
});

import assert from 'node:assert/strict';
import { tunnelView } from '../../testing/views.ts';
import type { TunnelStatus } from '../ipc/snapshot.ts';
import { DEFAULT_LOCALE, setLocale } from '../messages/translate.ts';
import { Notices, Outage } from './notices.ts';

const MINUTE = 60_000;
const RECONNECTING: TunnelStatus = { name: 'reconnecting', retryAt: 0, why: 'No connection to the relay.' };
const EXPIRED: TunnelStatus = { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' };

const ten = (changes: Parameters<typeof tunnelView>[0]) =>
  Array.from({ length: 10 }, (_, n) => tunnelView({ key: `k${n}`, ...changes }));

describe('Notices', () => {
  let notices: Notices;
  const kinds = (now: number, change: Parameters<typeof tunnelView>[0] = {}): string[] =>
    notices.look([tunnelView(change)], now).map(({ kind }) => kind);

  beforeEach(() => {
    notices = new Notices();
  });

  it('warn once, five minutes before the end', () => {
    assert.deepEqual(kinds(54 * MINUTE), []);
    assert.deepEqual(kinds(55 * MINUTE), ['expires-soon']);
    assert.deepEqual(kinds(56 * MINUTE), []);
  });

  it('warn again of the end of a tunnel that was extended', () => {
    kinds(55 * MINUTE);
    assert.deepEqual(kinds(56 * MINUTE, { expiresAt: 120 * MINUTE }), []);
    assert.deepEqual(kinds(116 * MINUTE, { expiresAt: 120 * MINUTE }), ['expires-soon']);
  });

  it('do not warn of the end of a tunnel that was created for such a short time', () => {
    assert.deepEqual(kinds(0, { ttl: 300, expiresAt: 5 * MINUTE }), []);
  });

  it('report once that a tunnel has expired, and nothing about one that was stopped', () => {
    kinds(0);
    assert.deepEqual(kinds(60 * MINUTE, { status: EXPIRED }), ['expired']);
    assert.deepEqual(kinds(61 * MINUTE, { status: EXPIRED }), []);
    const stopped: TunnelStatus = { name: 'ended', reason: 'stopped', why: 'You stopped the tunnel.' };
    const other = new Notices();
    other.look([tunnelView()], 0);
    assert.deepEqual(other.look([tunnelView({ status: stopped })], 1), []);
  });

  it('report nothing that had ended before the start', () => {
    assert.deepEqual(kinds(0, { status: EXPIRED }), []);
  });

  it('report the first visitor of a tunnel once', () => {
    assert.deepEqual(kinds(0), []);
    assert.deepEqual(kinds(1, { pulse: [{ id: 0, requests: 1, refused: 0, errors: 0 }] }), ['first-visitor']);
    assert.deepEqual(kinds(2, { requests: 7 }), []);
    assert.deepEqual(kinds(3), []);
    assert.deepEqual(kinds(4, { requests: 8 }), []);
  });

  it('name the folder of a tunnel that shares one', () => {
    const folder = tunnelView({ folder: 'site' });
    notices.look([folder], 0);
    const ended = { name: 'ended', reason: 'expired', why: '' } as const;
    const told = [{ requests: 1 }, { status: ended, requests: 1 }].flatMap((changes, at) =>
      notices.look([{ ...folder, ...changes }], at + 1),
    );
    assert.deepEqual(
      told.map(({ text }) => text),
      [
        'The first request reached folder site.',
        'Folder site is no longer shared. Start it again in Culvert.',
      ],
    );
  });

  it('report no first visitor from before the start or already seen by the user', () => {
    assert.deepEqual(kinds(0, { requests: 1 }), []);
    assert.deepEqual(kinds(1, { requests: 2 }), []);
    const other = new Notices();
    other.look([tunnelView()], 0, true);
    assert.deepEqual(other.look([tunnelView({ requests: 1 })], 1, true), []);
    assert.deepEqual(other.look([tunnelView({ requests: 2 })], 2), []);
  });

  it('report the first visitors of many tunnels in one notice', () => {
    notices.look(ten({}), 0);
    const told = notices.look(ten({ requests: 1 }), 1);
    assert.deepEqual(
      told.map(({ title, key }) => [title, key]),
      [['10 tunnels have their first visitors', undefined]],
    );
  });

  it('report a connection lost for 30 s, and its return', () => {
    kinds(0);
    assert.deepEqual(kinds(1000, { status: RECONNECTING }), []);
    assert.deepEqual(kinds(30_900, { status: RECONNECTING }), []);
    assert.deepEqual(kinds(31_000, { status: RECONNECTING }), ['lost']);
    assert.deepEqual(kinds(40_000, { status: RECONNECTING }), []);
    assert.deepEqual(kinds(41_000), ['back']);
    assert.deepEqual(kinds(42_000), []);
  });

  it('report nothing about a connection that recovers sooner', () => {
    kinds(0, { status: RECONNECTING });
    assert.deepEqual(kinds(29_000), []);
  });

  it('do not mistake sleep for a lost connection', () => {
    kinds(0, { status: RECONNECTING });
    assert.deepEqual(kinds(10 * MINUTE, { status: RECONNECTING }), []);
    assert.deepEqual(kinds(10 * MINUTE + 29_000, { status: RECONNECTING }), []);
    assert.deepEqual(kinds(10 * MINUTE + 30_000, { status: RECONNECTING }), ['lost']);
  });

  it('are merged for tunnels that expire together', () => {
    notices.look(ten({}), 0);
    const titles = notices.look(ten({ status: EXPIRED }), 60 * MINUTE).map(({ title }) => title);
    assert.deepEqual(titles, ['10 tunnels have expired']);
  });

  it('are not shown, then or later, for what the user sees in the window', () => {
    notices.look([tunnelView()], 0);
    assert.deepEqual(notices.look([tunnelView()], 55 * MINUTE, true), []);
    assert.deepEqual(kinds(56 * MINUTE), []);
    assert.deepEqual(notices.look([tunnelView({ status: EXPIRED })], 60 * MINUTE, true), []);
    assert.deepEqual(kinds(61 * MINUTE, { status: EXPIRED }), []);
  });

  it('forget tunnels that left the list', () => {
    kinds(55 * MINUTE);
    notices.look([], 56 * MINUTE);
    assert.deepEqual(kinds(57 * MINUTE), ['expires-soon']);
  });
});

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

  it('is one notice for tunnels lost together, and one for their return', () => {
    all(LOST);
    assert.deepEqual(look(1000), []);
    assert.deepEqual(look(31_000), ['30 tunnels are offline']);
    assert.deepEqual(look(40_000), []);
    all(ONLINE);
    assert.deepEqual(look(41_000), ['All 30 tunnels are back']);
    assert.deepEqual(look(42_000), []);
  });

  it('counts tunnels that are lost a little later, without notices of their own', () => {
    statuses[0] = LOST;
    look(1000);
    all(LOST);
    look(4000);
    assert.deepEqual(look(31_000), ['30 tunnels are offline']);
    assert.deepEqual(look(36_000), []);
  });

  it('replaces the first notice when another tunnel is lost later', () => {
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

  it("is reported in the user's language", () => {
    setLocale({ language: 'de', tag: 'de' });
    all(LOST);
    look(1000);
    assert.deepEqual(look(31_000), ['30 Tunnel sind offline']);
    all(ONLINE);
    assert.deepEqual(look(33_000), ['Alle 30 Tunnel sind wieder da']);
  });

  it('does not report a tunnel as back that ended during the outage', () => {
    all(LOST);
    look(1000);
    look(31_000);
    all(ONLINE);
    statuses[0] = ENDED;
    assert.deepEqual(look(32_000), ['29 tunnels are back']);
    assert.deepEqual(look(33_000), []);
  });

  it('needs no notice while the user sees it in the window, nor does its end then', () => {
    all(LOST);
    look(1000);
    assert.deepEqual(look(31_000, true), []);
    assert.deepEqual(look(36_000), []);
    all(ONLINE);
    assert.deepEqual(look(37_000), []);
  });

  it('has no notice of its end while the user sees that', () => {
    all(LOST);
    look(1000);
    look(31_000);
    all(ONLINE);
    assert.deepEqual(look(32_000, true), []);
    assert.deepEqual(look(33_000), []);
  });
});

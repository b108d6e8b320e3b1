import assert from 'node:assert/strict';
import type { TunnelStatus } from '../../shared/snapshot.ts';
import { tunnelView } from '../../testing/views.ts';
import { Notices } from './notices.ts';

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

  it('do not warn of the end of a tunnel that was created for so short a time', () => {
    assert.deepEqual(kinds(0, { ttl: 300, expiresAt: 5 * MINUTE }), []);
  });

  it('report once that a tunnel has expired, and nothing about one that was stopped', () => {
    kinds(0);
    assert.deepEqual(kinds(60 * MINUTE, { status: EXPIRED }), ['expired']);
    assert.deepEqual(kinds(61 * MINUTE, { status: EXPIRED }), []);
    const stopped: TunnelStatus = { name: 'ended', reason: 'stopped', why: 'You stopped it.' };
    const other = new Notices();
    other.look([tunnelView()], 0);
    assert.deepEqual(other.look([tunnelView({ status: stopped })], 1), []);
  });

  it('report nothing that had ended before the start', () => {
    assert.deepEqual(kinds(0, { status: EXPIRED }), []);
  });

  it('tell once of the first visitor of a tunnel', () => {
    assert.deepEqual(kinds(0), []);
    assert.deepEqual(kinds(1, { pulse: [{ id: 0, requests: 1, errors: 0 }] }), ['first-visitor']);
    assert.deepEqual(kinds(2, { requests: 7 }), []);
    assert.deepEqual(kinds(3), []);
    assert.deepEqual(kinds(4, { requests: 8 }), []);
  });

  it('name the folder of a tunnel that leads to one', () => {
    const folder = tunnelView({ folder: 'site' });
    notices.look([folder], 0);
    const ended = { name: 'ended', reason: 'expired', why: '' } as const;
    const told = [{ requests: 1 }, { status: ended, requests: 1 }].flatMap((changes, at) =>
      notices.look([{ ...folder, ...changes }], at + 1),
    );
    assert.deepEqual(
      told.map(({ text }) => text),
      ['A request has come to folder site.', 'Folder site is no longer shared. Start it again from Culvert.'],
    );
  });

  it('tell of no first visitor who was there before the start, or whom the user has seen', () => {
    assert.deepEqual(kinds(0, { requests: 1 }), []);
    assert.deepEqual(kinds(1, { requests: 2 }), []);
    const other = new Notices();
    other.look([tunnelView()], 0, true);
    assert.deepEqual(other.look([tunnelView({ requests: 1 })], 1, true), []);
    assert.deepEqual(other.look([tunnelView({ requests: 2 })], 2), []);
  });

  it('tell at once of the first visitors of many tunnels', () => {
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

  it('say nothing about a connection that is back sooner', () => {
    kinds(0, { status: RECONNECTING });
    assert.deepEqual(kinds(29_000), []);
  });

  it('do not take sleep for a lost connection', () => {
    kinds(0, { status: RECONNECTING });
    assert.deepEqual(kinds(10 * MINUTE, { status: RECONNECTING }), []);
    assert.deepEqual(kinds(10 * MINUTE + 29_000, { status: RECONNECTING }), []);
    assert.deepEqual(kinds(10 * MINUTE + 30_000, { status: RECONNECTING }), ['lost']);
  });

  it('are one for tunnels that expire together', () => {
    notices.look(ten({}), 0);
    const titles = notices.look(ten({ status: EXPIRED }), 60 * MINUTE).map(({ title }) => title);
    assert.deepEqual(titles, ['10 tunnels have expired']);
  });

  it('are not given, then or later, of what somebody sees in the window', () => {
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

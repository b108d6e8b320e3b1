import assert from 'node:assert/strict';
import type { TunnelStatus } from '../../shared/snapshot.ts';
import { tunnelView } from '../../testing/views.ts';
import { Notices } from './notices.ts';

const MINUTE = 60_000;
const RECONNECTING: TunnelStatus = { name: 'reconnecting', retryAt: 0, why: 'No connection to the relay.' };
const EXPIRED: TunnelStatus = { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' };

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

  it('forget tunnels that left the list', () => {
    kinds(55 * MINUTE);
    notices.look([], 56 * MINUTE);
    assert.deepEqual(kinds(57 * MINUTE), ['expires-soon']);
  });
});

import assert from 'node:assert/strict';
import { exampleSnapshot, exampleTunnel } from '../../testing/views.ts';
import type { TunnelView } from '../../shared/snapshot.ts';
import { announcements } from './announce.ts';
import { isLive, retryWords, tunnelState } from './tunnel-state.ts';

const NOW = 1_000_000;

function ended(reason: string): TunnelView {
  return exampleTunnel({ status: { name: 'ended', reason, why: '' } });
}

describe('tunnel state', () => {
  const live = exampleTunnel({ expiresAt: NOW + 3_600_000 });

  it('has a shape and a word for each status', () => {
    assert.deepEqual(tunnelState(live, NOW), { shape: 'online', word: 'Online' });
    assert.equal(tunnelState({ ...live, status: { name: 'connecting' } }, NOW).shape, 'connecting');
    const lost = { name: 'reconnecting', retryAt: NOW, why: '' } as const;
    assert.equal(tunnelState({ ...live, status: lost }, NOW).shape, 'reconnecting');
  });

  it('says what needs the user before what is fine', () => {
    const localProblem = { code: 'refused', text: 'Nothing listens on port 3000.' };
    assert.equal(tunnelState({ ...live, localProblem }, NOW).shape, 'trouble');
    assert.equal(tunnelState({ ...live, expiresAt: NOW + 60_000 }, NOW).shape, 'soon');
  });

  it('names how a tunnel ended, and copes with a reason it does not know', () => {
    assert.equal(tunnelState(ended('stopped'), NOW).word, 'Stopped');
    assert.equal(tunnelState(ended('replaced'), NOW).word, 'Taken over');
    assert.equal(tunnelState(ended('eaten'), NOW).word, 'Ended');
    assert.equal(isLive(ended('stopped')), false);
  });

  it('counts down to the next try', () => {
    assert.equal(
      retryWords({ name: 'reconnecting', retryAt: NOW + 3200, why: '' }, NOW),
      'Trying again in 4 s.',
    );
    assert.equal(retryWords({ name: 'reconnecting', retryAt: NOW - 5, why: '' }, NOW), 'Trying again now.');
  });
});

describe('announcements', () => {
  const tunnel = exampleTunnel({ slug: 'shop' });
  const before = exampleSnapshot({ tunnels: [tunnel] });
  const after = (changes: Partial<typeof tunnel>) =>
    exampleSnapshot({ tunnels: [{ ...tunnel, ...changes }] });

  it('tells changes of state', () => {
    const lost = after({ status: { name: 'reconnecting', retryAt: 0, why: '' } });
    assert.deepEqual(announcements(before, lost), ['shop has lost its connection and is reconnecting.']);
    assert.deepEqual(announcements(lost, before), ['shop is online.']);
    const over = after({ status: { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' } });
    assert.deepEqual(announcements(before, over), ['shop has ended. The tunnel has expired.']);
  });

  it('tells a local problem and that it is over', () => {
    const trouble = after({ localProblem: { code: 'refused', text: 'Nothing listens on port 3000.' } });
    assert.deepEqual(announcements(before, trouble), ['shop: Nothing listens on port 3000.']);
    assert.deepEqual(announcements(trouble, before), ['shop reaches your server again.']);
  });

  it('is silent about numbers, a first snapshot, and tunnels that had ended before', () => {
    assert.deepEqual(announcements(before, after({ requests: 99 })), []);
    assert.deepEqual(announcements(undefined, before), []);
    const over = after({ status: { name: 'ended', reason: 'expired', why: '' } });
    assert.deepEqual(announcements(exampleSnapshot({ tunnels: [] }), over), []);
  });

  it('tells no more than can be listened to', () => {
    const many = Array.from({ length: 50 }, (_, n) => exampleTunnel({ key: `k${n}`, slug: `s${n}` }));
    const told = announcements(exampleSnapshot({ tunnels: [] }), exampleSnapshot({ tunnels: many }));
    assert.equal(told.length, 4);
    assert.equal(told[3], 'And 47 more changes.');
  });
});

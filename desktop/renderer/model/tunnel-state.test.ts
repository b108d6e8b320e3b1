import assert from 'node:assert/strict';
import type { TunnelView } from '../../shared/snapshot.ts';
import { exampleTunnel } from '../../testing/views.ts';
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

  it('names how a tunnel ended, even for a reason it does not know', () => {
    assert.equal(tunnelState(ended('stopped'), NOW).word, 'Stopped');
    assert.equal(tunnelState(ended('replaced'), NOW).word, 'Taken over');
    assert.equal(tunnelState(ended('eaten'), NOW).word, 'Ended');
    assert.equal(isLive(ended('stopped')), false);
  });

  it('counts down to the next attempt', () => {
    assert.equal(retryWords({ retryAt: NOW + 3200 }, NOW), 'Trying again in 4 s.');
    assert.equal(retryWords({ retryAt: NOW - 5 }, NOW), 'Trying again now.');
  });
});

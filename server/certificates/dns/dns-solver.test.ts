import assert from 'node:assert/strict';
import type { ChallengeRecord } from '../../store/records.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { dnsSolver, textOf } from './dns-solver.ts';

describe('the dns-01 solver', () => {
  // RFC 8555 section 8.1 and 8.4: the text is the digest of token and key's thumbprint.
  const challenge: ChallengeRecord = {
    type: 'dns-01',
    host: 'tunnels.example',
    token: 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA',
    keyAuthorization:
      'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI',
    expiresAt: 0,
  };

  it('has the authority look 2 s after a challenge was kept', async () => {
    const clock = new FakeClock();
    const kept: string[] = [];
    let isReady = false;
    const solver = dnsSolver(
      {
        type: 'dns-01',
        present: ({ token }) => Promise.resolve(void kept.push(token)),
        withdraw: () => Promise.resolve(void kept.pop()),
      },
      clock,
    );
    const presented = solver.present(challenge).then(() => (isReady = true));
    await new Promise(setImmediate);
    clock.advance(1999);
    await new Promise(setImmediate);
    assert.deepEqual([kept, isReady], [[challenge.token], false]);
    clock.advance(1);
    await presented;
    await solver.withdraw(challenge);
    assert.deepEqual(kept, []);
  });

  it('shows the digest of what the authority expects, where it looks', () => {
    assert.deepEqual(textOf(challenge), {
      name: '_acme-challenge.tunnels.example',
      text: 'lCM7cZyQXcVHK2nnW3jjAhNT3Fvm18UN-kWZZknKoYM',
    });
  });
});

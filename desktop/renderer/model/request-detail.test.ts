import assert from 'node:assert/strict';
import { hiddenSecrets, replayProblem } from './request-detail.ts';

const REQUEST = { startLine: 'POST / HTTP/1.1', fields: [], body: new Uint8Array(), isTruncated: false };
const DONE = { request: REQUEST, status: 200, durationMs: 3, isBroken: false };

describe('a request in full', () => {
  it('counts the secrets that are not shown', () => {
    const fields = [
      ['Authorization', 'Bearer [redacted]'],
      ['Cookie', 'a=[redacted]; b=[redacted]'],
      ['Accept', '*/*'],
    ] as const;
    assert.equal(hiddenSecrets({ startLine: 'GET /?token=[redacted] HTTP/1.1', fields }), 4);
    assert.equal(hiddenSecrets(REQUEST), 0);
  });

  it('is sent again only if all of it is kept', () => {
    assert.equal(replayProblem(DONE, true), undefined);
    assert.match(
      replayProblem({ ...DONE, request: { ...REQUEST, isTruncated: true } }, true) ?? '',
      /beginning/,
    );
    assert.match(replayProblem({ ...DONE, status: 101 }, true) ?? '', /WebSocket/);
    assert.match(replayProblem(DONE, false) ?? '', /online/);
  });
});

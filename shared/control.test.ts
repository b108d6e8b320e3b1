import assert from 'node:assert/strict';
import { closeReason, parseControlMessage, problemDetail, problemMessage } from './control.ts';

describe('closeReason', () => {
  it('keeps what fits into a Close frame, without splitting a character', () => {
    assert.equal(closeReason('phishing'), 'phishing');
    assert.equal(closeReason('x'.repeat(124)), 'x'.repeat(123));
    assert.equal(closeReason(`${'x'.repeat(122)}é`), 'x'.repeat(122));
    assert.equal(closeReason('🙂'.repeat(40)), '🙂'.repeat(30));
  });
});

describe('problemDetail', () => {
  it('shows at most 80 printable characters, and escapes the others whole', () => {
    const rows: readonly [string, string][] = [
      ['HTP/1.1 200 OK', 'HTP/1.1 200 OK'],
      ['\x1b[31mA\tB\0\xe9', String.raw`\x1b[31mA\x09B\x00\xe9`],
      ['x'.repeat(81), 'x'.repeat(80)],
      [`${'x'.repeat(77)}\x1b`, 'x'.repeat(77)],
    ];
    for (const [sent, shown] of rows) {
      const detail = problemDetail(Buffer.from(sent, 'latin1'));
      assert.equal(detail, shown);
      const problem = { code: 'local-malformed', detail } as const;
      assert.deepEqual(parseControlMessage(problemMessage(problem)), { type: 'problem', ...problem });
    }
  });
});

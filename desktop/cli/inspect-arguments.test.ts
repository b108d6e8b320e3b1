import assert from 'node:assert/strict';
import { readInspect } from './inspect-arguments.ts';
import { UsageError } from './usage-error.ts';

describe('culvert inspect, as it is called', () => {
  it('lists unless told otherwise', () => {
    assert.deepEqual(readInspect([], {}), {
      command: 'inspect',
      action: { name: 'list' },
      tunnel: undefined,
      reveal: false,
      json: false,
    });
    assert.deepEqual(readInspect(['watch'], { tunnel: 'demo' }).tunnel, 'demo');
    const shown = readInspect(['show', '12'], { curl: true, reveal: true });
    assert.deepEqual(shown.action, { name: 'show', request: 12, asCurl: true });
    assert.equal(shown.reveal, true);
  });

  it('refuses what it does not know, and says what it takes', () => {
    for (const [operands, values, message] of [
      [['lost'], {}, /takes list, show, replay or watch, not "lost"/],
      [['list', '3'], {}, /"3" is more than "culvert inspect list" takes/],
      [['show'], {}, /Say which request to show: its number/],
      [['replay', '0'], {}, /Say which request to replay: its number/],
      [['show', '1', '2'], {}, /"2" is more than/],
      [['list'], { curl: true }, /--curl is for "culvert inspect show"/],
      [['show', '1'], { curl: true, json: true }, /--curl is for "culvert inspect show"/],
    ] as const)
      assert.throws(
        () => readInspect(operands, values),
        (error) => error instanceof UsageError && message.test(error.message),
      );
  });
});

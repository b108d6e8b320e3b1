import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { LateListener } from './edge-setup.ts';

describe('LateListener', () => {
  const taken: unknown[] = [];
  let loads: number;
  let loaded: (listener: RequestListener) => void;
  let late: LateListener;

  function ask(what: string): void {
    late.handle(what as unknown as IncomingMessage, {} as ServerResponse);
  }

  beforeEach(() => {
    taken.length = 0;
    loads = 0;
    late = new LateListener(() => {
      loads += 1;
      return new Promise((resolve) => (loaded = resolve));
    });
  });

  it('is loaded once, by the first request, and handles requests in order of arrival', async () => {
    ask('a');
    ask('b');
    const loading = late.load();
    assert.deepEqual([loads, taken], [1, []]);
    loaded((request) => taken.push(request));
    await loading;
    ask('c');
    assert.deepEqual([loads, taken], [1, ['a', 'b', 'c']]);
  });

  it('is not loaded before it is needed', () => {
    assert.equal(loads, 0);
  });
});

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { onStopSignals, SignalFilter } from './stop-signals.ts';

describe('the signals that stop a program', () => {
  for (const [title, hasTerminal, expected] of [
    ['end it with its terminal', true, ['SIGINT', 'hangup', 'hangup', 'SIGTERM', 'SIGBREAK']],
    ['leave out SIGHUP without a terminal', false, ['SIGINT', 'SIGTERM', 'SIGBREAK']],
  ] as const)
    it(`${title}, and count once within half a second`, () => {
      let now = 0;
      const process = new EventEmitter();
      const seen: string[] = [];
      const listener = { stop: (signal: string) => seen.push(signal), hangUp: () => seen.push('hangup') };
      onStopSignals(process, hasTerminal, listener, new SignalFilter(() => now));
      for (const [at, signal] of [
        [0, 'SIGINT'],
        [1, 'SIGINT'],
        [2, 'SIGHUP'],
        [3, 'SIGHUP'],
        [499, 'SIGTERM'],
        [500, 'SIGTERM'],
        [900, 'SIGINT'],
        [1000, 'SIGBREAK'],
      ] as const) {
        now = at;
        process.emit(signal);
      }
      assert.deepEqual(seen, expected);
    });
});

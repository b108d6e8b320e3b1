import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TrayWatch } from './tray-watch.ts';

describe('TrayWatch', () => {
  it('notices a tray that comes and goes, and takes what is not known for one', async () => {
    const clock = new FakeClock();
    let shows: boolean | undefined;
    const watch = new TrayWatch({
      clock,
      showsTrayIcons: () => Promise.resolve(shows),
      report: () => assert.fail(),
    });
    let changes = 0;
    watch.changed.listen(() => (changes += 1));
    const states: boolean[] = [];
    const look = async (answer: boolean | undefined, ms: number): Promise<void> => {
      shows = answer;
      clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
      states.push(watch.isMissing);
    };
    watch.start();
    await look(undefined, 0);
    await look(false, 60_000);
    await look(true, 5000);
    assert.deepEqual(states, [false, true, false]);
    assert.equal(changes, 2);
  });
});

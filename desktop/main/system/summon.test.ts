import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Summon } from './summon.ts';

function summon(newest: string | undefined) {
  const clock = new FakeClock();
  const done: string[] = [];
  const summoned = new Summon({
    newest: () => newest,
    now: () => clock.monotonic(),
    showWindow: () => void done.push('window'),
    showAddress: ({ key, copies }) => void done.push(`${copies ? 'copy' : 'show'} ${key}`),
  });
  return { clock, done, press: () => summoned.press() };
}

describe('the shortcut from anywhere', () => {
  it('shows the newest address, and copies it when pressed twice', () => {
    const { clock, done, press } = summon('k');
    press();
    clock.advance(999);
    press();
    press();
    assert.deepEqual(done, ['show k', 'copy k', 'show k']);
  });

  it('copies nothing when it is pressed again later', () => {
    const { clock, done, press } = summon('k');
    press();
    clock.advance(1000);
    press();
    assert.deepEqual(done, ['show k', 'show k']);
  });

  it('shows the window where there is no tunnel', () => {
    const { done, press } = summon(undefined);
    press();
    press();
    assert.deepEqual(done, ['window', 'window']);
  });
});

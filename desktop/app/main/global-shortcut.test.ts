import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { GlobalShortcut, GlobalShortcutKey } from './global-shortcut.ts';

/** A system on which other programs have some shortcuts. */
function system(taken: readonly string[] = []) {
  const registered = new Map<string, () => void>();
  const key = new GlobalShortcutKey({
    register(accelerator, callback) {
      if (taken.includes(accelerator)) return false;
      registered.set(accelerator, callback);
      return true;
    },
    unregister: (accelerator) => void registered.delete(accelerator),
  });
  let presses = 0;
  key.pressed.listen(() => (presses += 1));
  return { key, registered, presses: () => presses };
}

describe('GlobalShortcutKey', () => {
  it('has one shortcut at a time, and none when it is off', () => {
    const { key, registered, presses } = system();
    assert.equal(key.use('Alt+Shift+C'), true);
    registered.get('Alt+Shift+C')?.();
    assert.equal(presses(), 1);
    assert.equal(key.use('CommandOrControl+Shift+Space'), true);
    assert.deepEqual([...registered.keys()], ['CommandOrControl+Shift+Space']);
    assert.equal(key.use('off'), true);
    assert.equal(registered.size, 0);
    assert.equal(key.isRefused, false);
  });

  it('is off if the system refuses it, and reports that until another one works', () => {
    const { key, registered } = system(['Alt+Shift+C']);
    assert.equal(key.use('Alt+Shift+C'), false);
    assert.deepEqual([key.isRefused, registered.size], [true, 0]);
    assert.equal(key.use('CommandOrControl+Alt+Space'), true);
    assert.equal(key.isRefused, false);
  });

  it('counts as refused if the system throws', () => {
    const key = new GlobalShortcutKey({
      register: () => {
        throw new Error('no portal');
      },
      unregister: () => undefined,
    });
    assert.equal(key.use('Alt+Shift+C'), false);
  });
});

function summon(newest: string | undefined) {
  const clock = new FakeClock();
  const done: string[] = [];
  const summoned = new GlobalShortcut({
    newest: () => newest,
    now: () => clock.monotonic(),
    showWindow: () => void done.push('window'),
    showAddress: ({ key, copies }) => void done.push(`${copies ? 'copy' : 'show'} ${key}`),
  });
  return { clock, done, press: () => summoned.press() };
}

describe('GlobalShortcut', () => {
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

  it('shows the window if there is no tunnel', () => {
    const { done, press } = summon(undefined);
    press();
    press();
    assert.deepEqual(done, ['window', 'window']);
  });
});

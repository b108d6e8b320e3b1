import assert from 'node:assert/strict';
import { SummonKey } from './summon-key.ts';

/** A system on which other programs have some shortcuts. */
function system(taken: readonly string[] = []) {
  const registered = new Map<string, () => void>();
  const key = new SummonKey({
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

describe('SummonKey', () => {
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

  it('is off where the system refuses, and says so until it is given another', () => {
    const { key, registered } = system(['Alt+Shift+C']);
    assert.equal(key.use('Alt+Shift+C'), false);
    assert.deepEqual([key.isRefused, registered.size], [true, 0]);
    assert.equal(key.use('CommandOrControl+Alt+Space'), true);
    assert.equal(key.isRefused, false);
  });

  it('is refused where the system throws', () => {
    const key = new SummonKey({
      register: () => {
        throw new Error('no portal');
      },
      unregister: () => undefined,
    });
    assert.equal(key.use('Alt+Shift+C'), false);
  });
});

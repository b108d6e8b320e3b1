import assert from 'node:assert/strict';
import { FakeClock } from '../testing/fake-clock.ts';
import { Seals } from './seals.ts';

describe('a sealed value', () => {
  const clock = new FakeClock();
  const sealsOf = (current: string, ...others: string[]) =>
    new Seals(
      () => ({ current, others }),
      () => clock.now(),
    );
  const seals = sealsOf('key', 'older');

  it('opens for its purpose, also with a key that is no longer the current one', () => {
    const value = seals.seal('state', { a: ['ä'] }, 60);
    assert.match(value, /^[\w-]+$/);
    assert.ok(
      !Buffer.from(value, 'base64url')
        .toString('latin1')
        .includes('a'.repeat(1) + '":'),
    );
    assert.deepEqual(sealsOf('newer', 'key').open('state', value), { content: { a: ['ä'] }, isLate: false });
    assert.deepEqual(seals.open('state', sealsOf('older').seal('state', 1, 60)), {
      content: 1,
      isLate: false,
    });
  });

  it('does not open for another purpose, with other keys, or after any change', () => {
    const value = seals.seal('state', 'x', 60);
    assert.equal(seals.open('ticket', value), undefined);
    assert.equal(sealsOf('other').open('state', value), undefined);
    const bytes = Buffer.from(value, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.equal(seals.open('state', changed.toString('base64url')), undefined, String(at));
    }
    for (const wrong of ['', 'x', value.slice(0, 38), value.slice(1)])
      assert.equal(seals.open('state', wrong), undefined);
  });

  it('says when it has ended', () => {
    const value = seals.seal('state', 'x', 60);
    clock.jump(59_999);
    assert.equal(seals.open('state', value)?.isLate, false);
    clock.jump(1);
    assert.deepEqual(seals.open('state', value), { content: 'x', isLate: true });
  });
});

import assert from 'node:assert/strict';
import { failsWith } from '../../testing/core-app.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { UndoList } from './undo-list.ts';

describe('UndoList', () => {
  let clock: FakeClock;
  let undos: UndoList;
  let seen: string[];

  beforeEach(() => {
    clock = new FakeClock();
    seen = [];
    undos = new UndoList(clock, (error) => seen.push(String(error)));
  });

  function act(text: string) {
    return undos.offer({
      text,
      undo: () => Promise.resolve(void seen.push(`undone ${text}`)),
      commit: () => Promise.resolve(void seen.push(`final ${text}`)),
    });
  }
  const first = (): string => undos.views[0]?.id ?? '';

  it('finalizes an action that is not undone within 8 s', () => {
    act('a');
    clock.advance(7999);
    assert.deepEqual([undos.views.map(({ text }) => text), seen], [['a'], []]);
    clock.advance(1);
    assert.deepEqual([undos.isEmpty, seen], [true, ['final a']]);
  });

  it('undoes the requested action, once and never later', async () => {
    act('a');
    act('b');
    const id = first();
    await undos.undo(id);
    await assert.rejects(undos.undo(id), failsWith('too-late'));
    clock.advance(8000);
    assert.deepEqual(seen, ['undone a', 'final b']);
  });

  it('offers an action again that could not be undone', async () => {
    undos.offer({
      text: 'a',
      undo: () => Promise.reject(new Error('the disk is full')),
      commit: () => Promise.resolve(void seen.push('final')),
    });
    await assert.rejects(undos.undo(first()), /the disk is full/);
    assert.equal(undos.views.length, 1);
    clock.advance(8000);
    assert.deepEqual(seen, ['final']);
  });

  it('finalizes everything at the end, and reports failures', async () => {
    act('a');
    const failing = {
      text: 'b',
      undo: () => Promise.resolve(),
      commit: () => Promise.reject(new Error('no')),
    };
    undos.offer(failing);
    await undos.commitAll();
    assert.deepEqual([seen, undos.isEmpty], [['final a', 'Error: no'], true]);
  });

  it('lets the code that made the offer undo it while it is open', async () => {
    const pending = act('a');
    await pending.undo();
    await pending.undo();
    await pending.commit();
    assert.deepEqual(seen, ['undone a']);
  });
});

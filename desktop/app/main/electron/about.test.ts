import assert from 'node:assert/strict';
import type { Dialog } from 'electron';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { QUIT_TIMEOUT_MS } from '../limits.ts';
import { askQuit, createQuit } from './about.ts';

function answering(response: number): Pick<Dialog, 'showMessageBox'> {
  return { showMessageBox: () => Promise.resolve({ response, checkboxChecked: false }) };
}

describe('askQuit', () => {
  it('takes each button for what it says, and a closed question for "stay"', async () => {
    const choices = await Promise.all([0, 1, 2, 9].map((button) => askQuit(answering(button), 2)));
    assert.deepEqual(choices, ['close', 'leave', 'stay', 'stay']);
  });
});

describe('createQuit', () => {
  it('gives the relay 5 s to close the tunnels, and quits all the same', async () => {
    const clock = new FakeClock();
    let exits = 0;
    const quit = createQuit({
      core: {
        desk: { liveCount: 1, closeAll: () => new Promise<void>(() => {}) },
        undos: { commitAll: () => Promise.resolve() },
        store: { data: { settings: { onQuit: 'close' } } },
      },
      platform: { clock, report: () => assert.fail() },
      dialog: { showMessageBox: () => assert.fail() },
      exit: () => void (exits += 1),
    });
    const requested = quit.request();
    await turn();
    clock.advance(QUIT_TIMEOUT_MS - 1);
    await turn();
    assert.equal(exits, 0);
    clock.advance(1);
    await requested;
    assert.equal(exits, 1);
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

import assert from 'node:assert/strict';
import type { Dialog } from 'electron';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { askQuit, CHOICES, closeWithin, Quit, QUIT_TIMEOUT_MS } from './quit.ts';

function answering(response: number): Pick<Dialog, 'showMessageBox'> {
  return { showMessageBox: () => Promise.resolve({ response, checkboxChecked: false }) };
}

describe('askQuit', () => {
  it('maps each button to its choice, and a closed question to "stay"', async () => {
    const choices = await Promise.all([0, 1, 2, 9].map((button) => askQuit(answering(button), 2)));
    assert.deepEqual(choices, ['close', 'leave', 'stay', 'stay']);
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function quitting(liveCount: number, onQuit: 'ask' | 'close' | 'leave', choice: (typeof CHOICES)[number]) {
  const seen = { asked: 0, closed: 0, settled: 0, exits: 0 };
  const quit = new Quit({
    core: {
      liveCount,
      closeAll: () => Promise.resolve(void seen.closed++),
      undos: { commitAll: () => Promise.resolve(void seen.settled++) },
      store: { data: { settings: { onQuit } } },
    },
    platform: { clock: new FakeClock(), report: () => assert.fail() },
    dialog: {
      showMessageBox() {
        seen.asked++;
        return Promise.resolve({ response: CHOICES.indexOf(choice), checkboxChecked: false });
      },
    },
    exit: () => void seen.exits++,
  });
  return { quit, seen };
}

describe('Quit', () => {
  const cases: [string, Parameters<typeof quitting>, ReturnType<typeof quitting>['seen']][] = [
    [
      'asks nothing if there are no live tunnels',
      [0, 'ask', 'stay'],
      { asked: 0, closed: 0, settled: 1, exits: 1 },
    ],
    ['closes tunnels when told to', [2, 'ask', 'close'], { asked: 1, closed: 1, settled: 1, exits: 1 }],
    ['leaves them when told to', [2, 'ask', 'leave'], { asked: 1, closed: 0, settled: 1, exits: 1 }],
    ['stays', [2, 'ask', 'stay'], { asked: 1, closed: 0, settled: 0, exits: 0 }],
    ['does what the settings say', [2, 'close', 'stay'], { asked: 0, closed: 1, settled: 1, exits: 1 }],
    [
      'leaves them if the settings say that',
      [2, 'leave', 'stay'],
      { asked: 0, closed: 0, settled: 1, exits: 1 },
    ],
  ];
  for (const [title, given, expected] of cases) {
    it(title, async () => {
      const { quit, seen } = quitting(...given);
      await quit.request();
      assert.deepEqual(seen, expected);
      assert.equal(quit.isDone, expected.exits === 1);
    });
  }

  it('asks once, however often it is requested', async () => {
    const { quit, seen } = quitting(1, 'ask', 'stay');
    await Promise.all([quit.request(), quit.request(), quit.request()]);
    assert.equal(seen.asked, 1);
    await quit.request();
    assert.equal(seen.asked, 2);
  });

  it('gives the relay 5 s to close the tunnels, and quits then', async () => {
    const clock = new FakeClock();
    let exits = 0;
    const quit = new Quit({
      core: {
        liveCount: 1,
        closeAll: () => new Promise<void>(() => {}),
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

describe('closeWithin', () => {
  it('does not wait for work that takes too long', async () => {
    const clock = new FakeClock();
    const done = closeWithin(clock, 1000, new Promise<void>(() => {}), () => assert.fail());
    clock.advance(1000);
    await done;
  });

  it('reports failures', async () => {
    const errors: unknown[] = [];
    const clock = new FakeClock();
    await closeWithin(clock, 1000, Promise.reject(new Error('no')), (error) => errors.push(error));
    assert.equal(errors.length, 1);
    assert.deepEqual(clock.waiting, []);
  });
});

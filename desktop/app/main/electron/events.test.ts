import assert from 'node:assert/strict';
import type { App } from 'electron';
import { fakeEmitter, fakeEvent } from '../../../testing/fake-electron.ts';
import { collectLinks, listenToSystem } from './events.ts';

function listening(mayQuit: boolean) {
  const seen: string[] = [];
  const app = fakeEmitter({});
  const power = fakeEmitter({});
  const links = collectLinks(app as unknown as Pick<App, 'on'>);
  app.emit('open-url', fakeEvent({}), 'culvert://new?port=1');
  listenToSystem(
    app as unknown as Pick<App, 'on'>,
    power as unknown as Parameters<typeof listenToSystem>[1],
    links,
    {
      onShow: () => void seen.push('show'),
      onLink: (link) => void seen.push(link),
      onSuspend: () => void seen.push('suspend'),
      onWake: () => void seen.push('wake'),
      onShutdown: () => void seen.push('shutdown'),
      onQuit: () => mayQuit,
    },
  );
  return { app, power, seen };
}

describe('listenToSystem', () => {
  it('opens links, including those that arrived before it was ready', () => {
    const { app, seen } = listening(true);
    app.emit('open-url', fakeEvent({}), 'culvert://new?port=2');
    app.emit('second-instance', {}, ['culvert', 'culvert://new?port=3']);
    assert.deepEqual(seen, ['culvert://new?port=1', 'culvert://new?port=2', 'culvert://new?port=3']);
  });

  it('shows the window for a second start, disconnects before a sleep, and reconnects immediately after it', () => {
    const { app, power, seen } = listening(true);
    app.emit('second-instance', {}, ['culvert']);
    power.emit('suspend');
    power.emit('resume');
    power.emit('unlock-screen');
    assert.deepEqual(seen.slice(1), ['show', 'suspend', 'wake', 'wake']);
  });

  it('does not delay a shutdown of the system', () => {
    const { power, seen } = listening(false);
    power.emit('shutdown');
    assert.equal(seen.at(-1), 'shutdown');
  });

  it('quits only when allowed', () => {
    for (const mayQuit of [true, false]) {
      const quit = fakeEvent({});
      listening(mayQuit).app.emit('before-quit', quit);
      assert.equal(quit.isPrevented, !mayQuit);
    }
  });
});

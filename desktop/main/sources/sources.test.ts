import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { OWN_CHANGES_MS, SOURCES_LINGER_MS, SOURCES_SETTLE_MS } from '../limits.ts';
import { Sources } from './sources.ts';

const SHOP = { port: 3000, folder: undefined };
const flushed = () => new Promise((resolve) => setImmediate(resolve));

function watched(
  serverFolder: (port: number) => Promise<string | undefined> = () => Promise.resolve('/home/ann/shop'),
) {
  const clock = new FakeClock();
  const open: { folder: string; change: () => void }[] = [];
  const sources = new Sources({
    clock,
    serverFolder,
    watch(folder, change) {
      const watch = { folder, change };
      open.push(watch);
      return Promise.resolve({ close: () => void open.splice(open.indexOf(watch), 1) });
    },
  });
  const change = (): void => open[0]?.change();
  /** What the wait ends with, once it has. */
  const waiting = (ms = 10_000) => {
    const state: { isChanged: boolean | undefined } = { isChanged: undefined };
    void sources.wait(ms).then((isChanged) => (state.isChanged = isChanged));
    return state;
  };
  return { clock, open, sources, change, waiting };
}

describe('files of a local server', () => {
  it('end a wait once they have been saved, all of them', async () => {
    const { clock, sources, change, waiting } = watched();
    assert.deepEqual(await sources.start(SHOP), { name: 'shop', path: '/home/ann/shop' });
    const wait = waiting();
    clock.advance(OWN_CHANGES_MS);
    change();
    clock.advance(SOURCES_SETTLE_MS - 1);
    change();
    clock.advance(SOURCES_SETTLE_MS - 1);
    await flushed();
    assert.equal(wait.isChanged, undefined);
    clock.advance(1);
    await flushed();
    assert.equal(wait.isChanged, true);
  });

  it('end none when a request has changed them, before its response or within 500 ms after', async () => {
    const { clock, sources, change, waiting } = watched();
    await sources.start(SHOP);
    change();
    const wait = waiting();
    clock.advance(OWN_CHANGES_MS - 1);
    change();
    clock.advance(9000);
    await flushed();
    assert.equal(wait.isChanged, undefined);
    clock.advance(1000);
    await flushed();
    assert.equal(wait.isChanged, false);
  });

  it('are no longer watched when that is over, when others are, and 90 s after the last wait', async () => {
    const { clock, open, sources, waiting } = watched((port) => Promise.resolve(`/home/ann/${port}`));
    await sources.start(SHOP);
    await sources.start({ port: 4000, folder: undefined });
    assert.deepEqual(
      open.map(({ folder }) => folder),
      ['/home/ann/4000'],
    );
    const wait = waiting();
    sources.stop();
    await flushed();
    assert.deepEqual([wait.isChanged, open.length, clock.waiting], [false, 0, []]);
    await sources.start(SHOP);
    waiting(60_000);
    clock.advance(60_000 + SOURCES_LINGER_MS - 1);
    assert.equal(open.length, 1);
    clock.advance(1);
    assert.equal(open.length, 0);
  });

  it('are not watched when it was over before their folder was found', async () => {
    const found = Promise.withResolvers<string>();
    const { open, sources } = watched(() => found.promise);
    const started = sources.start(SHOP);
    sources.stop();
    found.resolve('/home/ann/shop');
    assert.deepEqual([await started, open], [undefined, []]);
  });

  it('are those of the folder that is shared; where none is known, a wait is only time', async () => {
    const { clock, open, sources, waiting } = watched(() => Promise.resolve(undefined));
    assert.equal(await sources.start(SHOP), undefined);
    const wait = waiting(2000);
    clock.advance(2000);
    await flushed();
    assert.equal(wait.isChanged, false);
    await sources.start({ port: 0, folder: '/home/ann/site' });
    assert.deepEqual(
      open.map(({ folder }) => folder),
      ['/home/ann/site'],
    );
  });

  it('are waited for once at a time', async () => {
    const { sources, waiting } = watched();
    await sources.start(SHOP);
    const first = waiting();
    waiting();
    await flushed();
    assert.equal(first.isChanged, false);
    sources.stop();
  });
});

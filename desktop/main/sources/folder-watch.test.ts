import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import {
  type FSWatcher,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { opendir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WATCHED_ENTRIES_MAX, WATCHED_FOLDERS_MAX } from '../limits.ts';
import { type FolderSystem, type FolderWatch, watchFolder } from './folder-watch.ts';
import { isSource } from './is-source.ts';

/** ms within which the system tells, however busy it is. */
const TELLS_MS = 20_000;

/** A folder with as much in it as is looked at, and one folder more. */
async function* entries() {
  for (let count = 1; count < WATCHED_ENTRIES_MAX; count += 1)
    yield { name: 'file.js', isDirectory: () => false };
  yield { name: 'within', isDirectory: () => true };
  yield { name: 'beyond', isDirectory: () => true };
}

describe('names of sources', () => {
  const cases: [string, boolean][] = [
    ['server.ts', true],
    ['src', true],
    ['views.log.html', true],
    ['database.ts', true],
    ['.env.local', true],
    ['.git', false],
    ['.next', false],
    ['node_modules', false],
    ['dist', false],
    ['dev.log', false],
    ['app.sqlite3', false],
    ['app.db-wal', false],
    ['.server.ts.swp', false],
    ['server.ts~', false],
    ['__pycache__', false],
  ];
  for (const [name, isOne] of cases)
    it(`${isOne ? 'are' : 'are not'} ${name}`, () => assert.equal(isSource(name), isOne));
});

describe('a folder that is watched', function () {
  this.timeout(3 * TELLS_MS);
  let root = '';
  let watch: FolderWatch | undefined;
  let changes = 0;
  let heard = Promise.withResolvers<void>();
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'culvert-sources-'));
    changes = 0;
  });
  afterEach(() => {
    watch?.close();
    rmSync(root, { recursive: true });
  });
  const noteChange = (): void => void (changes += 1);
  const open = async (folder = root): Promise<void> => {
    watch = await watchFolder(folder, () => {
      changes += 1;
      heard.resolve();
    });
  };
  const path = (...parts: string[]): string => join(root, ...parts);
  const write = (...parts: string[]): void => writeFileSync(path(...parts), String(Math.random()));
  /** Waits until it is heard that something was done. */
  async function hears(act: () => void): Promise<void> {
    heard = Promise.withResolvers();
    act();
    const timer = new AbortController();
    await Promise.race([
      heard.promise,
      delay(TELLS_MS, undefined, { signal: timer.signal }).then(() => assert.fail('nothing was heard')),
    ]);
    timer.abort();
  }

  it('hears of files in it, in folders in it, and in those that are made or moved there later', async () => {
    mkdirSync(path('src', 'deep'), { recursive: true });
    await open();
    await hears(() => write('server.js'));
    await hears(() => write('src', 'deep', 'handler.js'));
    await hears(() => mkdirSync(path('lib')));
    // It takes a moment until a new folder is watched; who saves in it once more is heard.
    await hearsSoon(() => write('lib', 'new.js'));
    await hears(() => renameSync(path('src'), path('source')));
    await hearsSoon(() => write('source', 'deep', 'handler.js'));
  });

  /** The same for what is heard of from some moment on. */
  async function hearsSoon(act: () => void): Promise<void> {
    heard = Promise.withResolvers();
    const again = setInterval(act, 50);
    try {
      await hears(act);
    } finally {
      clearInterval(again);
    }
  }

  it('hears nothing of what programs write beside sources, of links, and once it is closed', async () => {
    mkdirSync(path('node_modules', 'koa'), { recursive: true });
    mkdirSync(path('outside'));
    mkdirSync(path('project'));
    symlinkSync(path('outside'), path('project', 'link'));
    mkdirSync(path('project', 'node_modules'));
    await open(path('project'));
    write('project', 'dev.log');
    write('project', 'node_modules', 'index.js');
    write('outside', 'file.js');
    // What comes in order after them is heard alone.
    await hears(() => write('project', 'server.js'));
    const before = changes;
    watch?.close();
    write('project', 'server.js');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(changes, before);
  });

  it('is given up without an error where it is gone', async () => {
    await open(path('gone'));
    assert.equal(changes, 0);
  });

  it('is watched with 1,000 folders, those higher up first', async () => {
    mkdirSync(path('a', 'deep'), { recursive: true });
    for (let count = 0; count < WATCHED_FOLDERS_MAX - 2; count += 1) mkdirSync(path(`folder-${count}`));
    const watched = await watchedIn(opendir);
    assert.equal(watched.length, WATCHED_FOLDERS_MAX);
    assert.ok(watched.includes(path('a')) && !watched.includes(path('a', 'deep')));
  });

  it('is looked at as far as 50,000 files and folders', async () => {
    const none = (async function* () {})();
    const watched = await watchedIn((folder) => Promise.resolve(folder === root ? entries() : none));
    assert.deepEqual(watched, [root, path('within')]);
  });

  it('has one watcher where the system hears of whole trees, which tells only of sources', async () => {
    const [watched, tell] = await fakeWatch({ opendir, watchesTrees: true });
    for (const name of ['node_modules/koa/index.js', String.raw`web\.next\page.js`, 'src/dev.log'])
      tell(name);
    assert.deepEqual([watched, changes], [[root], 0]);
    for (const name of ['src/server.js', String.raw`web\page.js`, null]) tell(name);
    assert.equal(changes, 3);
  });

  /** Paths of the folders that are watched one by one. */
  async function watchedIn(opened: FolderSystem['opendir']): Promise<string[]> {
    const [watched] = await fakeWatch({ opendir: opened, watchesTrees: false });
    return watched;
  }

  /** @returns paths of the folders that are watched, and what tells of a name in the last one */
  async function fakeWatch(
    system: Omit<FolderSystem, 'watch'>,
  ): Promise<[string[], (name: string | null) => void]> {
    const watched: string[] = [];
    const watcher = Object.assign(new EventEmitter(), { close: () => undefined }) as unknown as FSWatcher;
    const listeners: ((event: string, name: string | null) => void)[] = [];
    const note = (
      folder: string,
      _: object,
      listener: (event: string, name: string | null) => void,
    ): FSWatcher => {
      watched.push(folder);
      listeners.push(listener);
      return watcher.removeAllListeners();
    };
    watch = await watchFolder(root, noteChange, { ...system, watch: note as FolderSystem['watch'] });
    return [watched, (name) => listeners.at(-1)?.('rename', name)];
  }
});

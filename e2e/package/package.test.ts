/**
 * Step 7: electron-builder packages the app as for a release, around a placeholder for Electron, and the test takes the
 * result apart. It cannot prove that Electron starts it, nor that the installers work.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, normalize, sep } from 'node:path';
import { promisify } from 'node:util';
import { extractFile, listPackage } from '@electron/asar';
import { parse } from 'yaml';
import { CHANNEL_NAMES } from '../../desktop/app/main/handlers/channels.ts';
import { buildApp } from '../../desktop/build/build.ts';
import { readRepository, ROOT, updatesAddress } from '../../release/repository.ts';
import { VERSION } from '../../shared/version.ts';
import { enabledFuses, FUSES_ON, packageApp } from './packaging.ts';

const OWN_FILES_MAX_BYTES = 3 * 1024 * 1024;
const STARTING_TIMEOUT_MS = 20_000;
const execute = promisify(execFile);

/** The output of `starts.ts`. */
interface Started {
  channels: string[];
  preferences: Record<string, unknown>[];
  schemes: string[];
  urls: string[];
  tooltips: string[];
  shortcuts: string[];
  errors: string[];
}

describe('the package', () => {
  let work: string;
  let app: string;
  let asar: string;

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'culvert-package-'));
    await buildApp();
    app = await packageApp('linux', work);
    asar = join(app, 'resources/app.asar');
  });

  after(() => rm(work, { recursive: true, force: true }));

  it('contains what the app needs at run time, and no packages', () => {
    const states = ['idle', 'online', 'trouble', 'offline'];
    const tray = states.flatMap((state) =>
      ['light', 'dark'].flatMap((bar) => [`/tray-${state}-${bar}.png`, `/tray-${state}-${bar}@2x.png`]),
    );
    const files = listPackage(asar, { isPack: false })
      .map((file) => file.replaceAll(sep, '/'))
      .filter((file) => file !== '/renderer');
    assert.deepEqual(
      files.sort(),
      [
        '/NOTICES.txt',
        '/icon.png',
        '/licences.json',
        '/main.cjs',
        '/package.json',
        '/preload.cjs',
        '/renderer/index.html',
        '/renderer/main.css',
        '/renderer/main.js',
        ...tray,
      ].sort(),
    );
  });

  it('has entry points that exist, and need nothing but Electron and Node', () => {
    const manifest = JSON.parse(read('package.json')) as { main: string; version: string };
    assert.equal(manifest.version, VERSION);
    assert.deepEqual(requiredBy(read(manifest.main)), ['electron']);
    assert.deepEqual(requiredBy(read('preload.cjs')), ['electron']);
    const page = read('renderer/index.html');
    for (const [, file = ''] of page.matchAll(/(?:src|href)="((?!data:)[^"]+)"/g)) {
      assert.ok(read(`renderer/${file}`).length > 0, file);
    }
  });

  it('has a main process that starts, on a fake Electron, and registers every channel', async () => {
    const main = join(ROOT, 'dist-desktop/app/main.cjs');
    const { stdout } = await execute(process.execPath, [join(import.meta.dirname, 'starts.ts'), main, work], {
      timeout: STARTING_TIMEOUT_MS,
    });
    const { channels, preferences, schemes, urls, tooltips, shortcuts, errors } = JSON.parse(
      stdout,
    ) as Started;
    assert.deepEqual(errors, []);
    assert.deepEqual(channels.sort(), [...CHANNEL_NAMES].sort());
    assert.deepEqual([schemes, urls], [['culvert-app'], ['culvert-app://app/index.html']]);
    assert.equal(preferences[0]?.['sandbox'], true);
    assert.equal(preferences[0]['preload'], join(ROOT, 'dist-desktop/app/preload.cjs'));
    assert.equal(tooltips[0], 'Culvert: signed out');
    assert.deepEqual(shortcuts, ['CommandOrControl+Alt+Shift+C']);
  });

  it('contains at most 3 MB of its own files', async () => {
    const { size } = await stat(asar);
    assert.ok(size <= OWN_FILES_MAX_BYTES, `${size} bytes`);
  });

  it('names the licence of everything it contains', () => {
    const licences = JSON.parse(read('licences.json')) as { name: string; licence: string }[];
    const names = licences.map(({ name }) => name);
    for (const name of ['Electron', 'ws', 'yup', 'preact', 'electron-updater']) {
      assert.ok(names.includes(name), name);
    }
    assert.match(read('NOTICES.txt'), /Permission is hereby granted/);
  });

  it('has the fuses set', async () => {
    assert.deepEqual(await enabledFuses(join(app, 'culvert-desktop')), FUSES_ON);
  });

  it('knows where to look for updates', async () => {
    const update = parse(await readFile(join(app, 'resources/app-update.yml'), 'utf8')) as object;
    const { provider, url, publisherName } = update as Record<string, string>;
    assert.deepEqual([provider, url], ['generic', updatesAddress(readRepository())]);
    assert.equal(
      publisherName,
      undefined,
      'by this name an app takes updates (desktop/app/main/electron/updater.ts)',
    );
  });

  function read(file: string): string {
    return extractFile(asar, normalize(file)).toString();
  }
});

/** Packages that a bundle loads at its start, except Node's own and the optional ones of `ws`. */
function requiredBy(code: string): string[] {
  const optional = new Set(['bufferutil', 'utf-8-validate']);
  const names = [...code.matchAll(/\brequire\("([^"./][^"]*)"\)/g)].map(([, name = '']) => name);
  const own = new Set(process.getBuiltinModule('node:module').builtinModules);
  return [...new Set(names)].filter(
    (name) => !name.startsWith('node:') && !own.has(name) && !optional.has(name),
  );
}

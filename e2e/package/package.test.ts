/**
 * Rung 6: the app is packaged by electron-builder as for a release, around a placeholder for Electron, and taken apart
 * again. What it cannot prove: that Electron starts it, and the installers.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { extractFile, listPackage } from '@electron/asar';
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { parse } from 'yaml';
import { buildApp } from '../../desktop/build/build.ts';
import { BUILDER, builderArguments } from '../../desktop/build/builder.ts';
import { CALL_NAMES } from '../../desktop/shared/channels.ts';
import { readHome, ROOT, updatesAddress } from '../../release/home.ts';
import { VERSION } from '../../shared/version.ts';
import { makePlaceholderElectron } from './placeholder.ts';

const OWN_FILES_MAX_BYTES = 3 * 1024 * 1024;
/** electron-builder takes some seconds. */
const PACKAGING_TIMEOUT_MS = 110_000;
const STARTING_TIMEOUT_MS = 20_000;
/** How @electron/fuses writes a fuse that is on. */
const ENABLED = '1'.charCodeAt(0);
const execute = promisify(execFile);

interface Target {
  target: string;
  arch: string[];
}

interface Configuration {
  mac: { target: Target[]; hardenedRuntime: boolean; entitlements: string; icon: string; extendInfo: object };
  win: { target: Target[]; icon: string };
  linux: { target: Target[]; icon: string };
  publish: { provider: string };
  artifactName: string;
  electronVersion: string;
}

/** What `starts.ts` prints. */
interface Started {
  channels: string[];
  preferences: Record<string, unknown>[];
  schemes: string[];
  urls: string[];
  tooltips: string[];
  errors: string[];
}

describe('the package', () => {
  let work: string;
  let app: string;
  let asar: string;
  let configuration: Configuration;

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'culvert-package-'));
    const electron = join(work, 'electron');
    await Promise.all([makePlaceholderElectron(electron), buildApp()]);
    const output = join(work, 'out');
    const settings = [`-c.electronDist=${electron}`, `-c.directories.output=${output}`];
    const args = builderArguments(['--dir', '--linux', '--x64', ...settings]);
    await execute(process.execPath, [BUILDER, ...args], {
      cwd: ROOT,
      timeout: PACKAGING_TIMEOUT_MS,
      // Nothing is to be downloaded: a placeholder stands for what would be.
      env: { ...process.env, ELECTRON_SKIP_BINARY_DOWNLOAD: '1', npm_config_offline: 'true' },
    });
    app = join(output, 'linux-unpacked');
    asar = join(app, 'resources/app.asar');
    configuration = parse(await readFile(join(ROOT, 'electron-builder.yml'), 'utf8')) as Configuration;
  });

  after(() => rm(work, { recursive: true, force: true }));

  it('holds what the app needs at run time, and no packages', () => {
    const states = ['idle', 'online', 'trouble', 'offline'];
    const tray = states.flatMap((state) =>
      ['light', 'dark'].flatMap((bar) => [`/tray-${state}-${bar}.png`, `/tray-${state}-${bar}@2x.png`]),
    );
    const files = listPackage(asar, { isPack: false }).filter((file) => file !== '/renderer');
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

  it('has entry points that are there, and need nothing but Electron and Node', () => {
    const manifest = JSON.parse(read('package.json')) as { main: string; version: string };
    assert.equal(manifest.version, VERSION);
    assert.deepEqual(requiredBy(read(manifest.main)), ['electron']);
    assert.deepEqual(requiredBy(read('preload.cjs')), ['electron']);
    const page = read('renderer/index.html');
    for (const [, file = ''] of page.matchAll(/(?:src|href)="([^"]+)"/g)) {
      assert.ok(read(`renderer/${file}`).length > 0, file);
    }
  });

  it('has a main process that starts, on a fake Electron, and registers every channel', async () => {
    const main = join(ROOT, 'dist-desktop/app/main.cjs');
    const { stdout } = await execute(process.execPath, [join(import.meta.dirname, 'starts.ts'), main, work], {
      timeout: STARTING_TIMEOUT_MS,
    });
    const { channels, preferences, schemes, urls, tooltips, errors } = JSON.parse(stdout) as Started;
    assert.deepEqual(errors, []);
    assert.deepEqual(channels.sort(), [...CALL_NAMES].sort());
    assert.deepEqual([schemes, urls], [['culvert-app'], ['culvert-app://app/index.html']]);
    assert.equal(preferences[0]?.['sandbox'], true);
    assert.equal(preferences[0]['preload'], join(ROOT, 'dist-desktop/app/preload.cjs'));
    assert.equal(tooltips[0], 'Culvert: signed out');
  });

  it('stays within 3 MB of its own files', async () => {
    const { size } = await stat(asar);
    assert.ok(size <= OWN_FILES_MAX_BYTES, `${size} bytes`);
  });

  it('names the licence of everything in it', () => {
    const licences = JSON.parse(read('licences.json')) as { name: string; licence: string }[];
    const names = licences.map(({ name }) => name);
    for (const name of ['Electron', 'ws', 'yup', 'preact', 'electron-updater']) {
      assert.ok(names.includes(name), name);
    }
    assert.match(read('NOTICES.txt'), /Permission is hereby granted/);
  });

  it('has the fuses set', async () => {
    const wire = await getCurrentFuseWire(join(app, 'culvert-desktop'));
    const state = (fuse: FuseV1Options): boolean => Number(wire[fuse]) === ENABLED;
    assert.equal(state(FuseV1Options.RunAsNode), false);
    assert.equal(state(FuseV1Options.EnableNodeOptionsEnvironmentVariable), false);
    assert.equal(state(FuseV1Options.EnableNodeCliInspectArguments), false);
    assert.equal(state(FuseV1Options.GrantFileProtocolExtraPrivileges), false);
    assert.equal(state(FuseV1Options.EnableCookieEncryption), true);
    assert.equal(state(FuseV1Options.EnableEmbeddedAsarIntegrityValidation), true);
    assert.equal(state(FuseV1Options.OnlyLoadAppFromAsar), true);
  });

  it('knows where to look for updates', async () => {
    const update = parse(await readFile(join(app, 'resources/app-update.yml'), 'utf8')) as object;
    const { provider, url } = update as { provider: string; url: string };
    assert.deepEqual([provider, url], ['generic', updatesAddress(readHome())]);
  });

  it('is made for macOS, Windows and Linux', () => {
    const { mac, win, linux, artifactName } = configuration;
    assert.deepEqual(targets(mac.target), ['dmg universal', 'zip universal']);
    assert.equal(mac.hardenedRuntime, true);
    assert.deepEqual(mac.extendInfo, { LSUIElement: true });
    assert.deepEqual(targets(win.target), ['nsis arm64', 'nsis x64']);
    assert.deepEqual(
      targets(linux.target),
      ['AppImage', 'deb', 'rpm'].flatMap((kind) => [`${kind} arm64`, `${kind} x64`]),
    );
    // Without them one file would overwrite another.
    for (const part of ['version', 'os', 'arch', 'ext'])
      assert.ok(artifactName.includes(`\${${part}}`), part);
  });

  it('is made for the Electron that types and tests are for', async () => {
    const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: { electron: string };
    };
    assert.equal(configuration.electronVersion, devDependencies.electron);
  });

  it('has icons of the form that each system takes', async () => {
    const { mac, win, linux } = configuration;
    const icns = await readFile(join(ROOT, mac.icon));
    assert.equal(icns.toString('latin1', 0, 4), 'icns');
    assert.equal(icns.readUInt32BE(4), icns.length);
    const ico = await readFile(join(ROOT, win.icon));
    assert.deepEqual([ico.readUInt16LE(0), ico.readUInt16LE(2)], [0, 1]);
    const png = await readFile(join(ROOT, linux.icon, '512x512.png'));
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [512, 512]);
    assert.ok((await readFile(join(ROOT, mac.entitlements), 'utf8')).includes('allow-jit'));
  });

  function read(file: string): string {
    return extractFile(asar, file).toString();
  }
});

/** Packages that a bundle asks for when it is loaded, Node's own and those that `ws` can do without apart. */
function requiredBy(code: string): string[] {
  const optional = new Set(['bufferutil', 'utf-8-validate']);
  const names = [...code.matchAll(/\brequire\("([^"./][^"]*)"\)/g)].map(([, name = '']) => name);
  const own = new Set(process.getBuiltinModule('node:module').builtinModules);
  return [...new Set(names)].filter(
    (name) => !name.startsWith('node:') && !own.has(name) && !optional.has(name),
  );
}

function targets(list: readonly Target[]): string[] {
  return list.flatMap(({ target, arch }) => arch.map((each) => `${target} ${each}`)).sort();
}

/** Bundles the desktop app into dist-desktop/app with everything it needs at run time, so that it needs no packages. */
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, type BuildOptions, type Metafile } from 'esbuild';
import { type Bundled, bundledPackages, licenceNotices } from '../../release/licences.ts';
import { readRepository, ROOT, updatesAddress } from '../../release/repository.ts';
import { VERSION } from '../../shared/version.ts';
import type { About } from '../app/ipc/ipc.ts';
import { CHANNEL_NAMES } from '../app/main/handlers/channels.ts';

const DESKTOP = join(ROOT, 'desktop');

/** The output folder of the app. */
export const APP_DIRECTORY = join(ROOT, 'dist-desktop/app');

const COMMON = {
  bundle: true,
  minify: true,
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Makes paths in messages and in the list of inputs independent of where the build is started.
  absWorkingDir: ROOT,
} satisfies BuildOptions;

/** Electron 45 has Node 24. */
const NODE = {
  ...COMMON,
  platform: 'node',
  format: 'cjs',
  target: 'node24',
  // `ws` uses the last two if they are installed.
  external: ['electron', 'bufferutil', 'utf-8-validate'],
} satisfies BuildOptions;

/** Browsers that know `light-dark()`, on which the window's colours are based. */
const BROWSERS = ['chrome123', 'firefox128', 'safari17.5'];

/** The page of the app. Electron 45 has Chromium 156, which esbuild does not know yet. */
export const PAGE = {
  ...COMMON,
  platform: 'browser',
  format: 'iife',
  target: 'chrome140',
  jsx: 'automatic',
  jsxImportSource: 'preact',
} satisfies BuildOptions;

/**
 * @param directory for the page's files
 * @param kind the page of the app, or the one for browsers
 */
export async function buildPage(directory: string, kind: 'app' | 'browser' = 'app'): Promise<Metafile> {
  const renderer = join(DESKTOP, 'app/renderer');
  const { metafile } = await build({
    ...PAGE,
    ...(kind === 'app' ? {} : { target: BROWSERS }),
    entryPoints: [join(renderer, kind === 'app' ? 'main.tsx' : 'browser/main.tsx')],
    outdir: directory,
  });
  await cp(join(renderer, 'index.html'), join(directory, 'index.html'));
  return metafile;
}

/** @param file output file; CommonJS, because a sandboxed preload script must be */
export async function buildPreload(file: string): Promise<Metafile> {
  const { metafile } = await build({
    ...NODE,
    entryPoints: [join(DESKTOP, 'app/preload/preload.ts')],
    define: { CHANNEL_NAMES: JSON.stringify(CHANNEL_NAMES) },
    outfile: file,
  });
  return metafile;
}

async function buildMain(file: string): Promise<Metafile> {
  const { metafile } = await build({
    ...NODE,
    entryPoints: [join(DESKTOP, 'app/main/index.ts')],
    outfile: file,
  });
  return metafile;
}

/** Builds the whole app into {@link APP_DIRECTORY}. */
export async function buildApp(): Promise<void> {
  await rm(APP_DIRECTORY, { recursive: true, force: true });
  await mkdir(APP_DIRECTORY, { recursive: true });
  const packages = bundledPackages(
    await Promise.all([
      buildMain(join(APP_DIRECTORY, 'main.cjs')),
      buildPreload(join(APP_DIRECTORY, 'preload.cjs')),
      buildPage(join(APP_DIRECTORY, 'renderer')),
    ]),
  );
  await writeFile(join(APP_DIRECTORY, 'licences.json'), JSON.stringify(licenceList(packages)));
  await writeFile(join(APP_DIRECTORY, 'NOTICES.txt'), licenceNotices(packages));
  await writeFile(join(APP_DIRECTORY, 'package.json'), JSON.stringify(manifest(), undefined, 2));
  await cp(join(DESKTOP, 'assets/tray'), APP_DIRECTORY, { recursive: true });
  await cp(join(DESKTOP, 'assets/icons/512x512.png'), join(APP_DIRECTORY, 'icon.png'));
}

/** The app's manifest, read by Electron, electron-builder and the app itself (desktop/app/main/index.ts). */
function manifest(): object {
  const { address, author } = readRepository();
  return {
    name: 'culvert-desktop',
    productName: 'Culvert',
    version: VERSION,
    description: 'Puts a port of this computer on the internet, through a relay of your own',
    author,
    homepage: address,
    license: 'MIT',
    main: 'main.cjs',
    // Tells Linux desktops which menu entry a window belongs to.
    desktopName: 'culvert-desktop.desktop',
  };
}

/* electron-builder, and the options passed in addition to electron-builder.yml. */

/** The JavaScript file of its command, for Node. */
export const BUILDER = createRequire(import.meta.url).resolve('electron-builder/cli.js');

/**
 * @returns the environment without empty variables. CI passes missing secrets as empty variables, which
 *   electron-builder would mistake for a certificate
 */
export function builderEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

/** @param more arguments for electron-builder, which take precedence */
export function builderArguments(more: readonly string[]): string[] {
  const updates = updatesAddress(readRepository());
  return ['--config', 'electron-builder.yml', '--publish', 'never', `-c.publish.url=${updates}`, ...more];
}

/* The licences of the app's parts, as listed in its window. */

/** Parts of Electron, which includes their texts (`LICENSES.chromium.html`). */
const ELECTRON: About['licences'] = [
  { name: 'Electron', licence: 'MIT' },
  { name: 'Chromium', licence: 'BSD-3-Clause and others' },
  { name: 'Node.js', licence: 'MIT' },
];

/** The list in the window under "About". */
function licenceList(packages: readonly Bundled[]): About['licences'] {
  return [...ELECTRON, ...packages.map(({ name, licence }) => ({ name, licence }))];
}

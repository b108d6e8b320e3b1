/** Rung 5: the built app in Electron itself, through Playwright. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { _electron, type ElectronApplication, type Page } from 'playwright-core';
import type { Answer } from '../../../desktop/app/ipc/ipc.ts';
import type { Snapshot } from '../../../desktop/app/ipc/snapshot.ts';
import { APP_DIRECTORY, buildApp } from '../../../desktop/build/build.ts';
import { within } from '../../support/deadline.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { watchPage } from './app-window.ts';
import { type Driver, newest, type RunningApp, sharedByAll } from './running-app.ts';
import { DIRECTORY_VARIABLE, type ElectronOutside, type EntryGlobals } from './electron-outside.ts';

const START_TIMEOUT_MS = 20_000;
const END_TIMEOUT_MS = 10_000;

/** The built app, and the script that runs before its main file. */
const sharedEntry = sharedByAll(async (run) => {
  await buildApp();
  const entry = join(temporaryDirectory(run), 'entry.cjs');
  await buildEntry(entry, join(APP_DIRECTORY, 'main.cjs'));
  return entry;
});

/** @param program Electron's program */
export function electronDriver(program: string): Driver {
  return {
    async begin() {
      const entry = await sharedEntry();
      return async (scope, directory) => {
        mkdirSync(directory, { recursive: true });
        const app = await _electron.launch({
          executablePath: program,
          args: [entry],
          env: environment(directory),
          timeout: START_TIMEOUT_MS,
        });
        scope.defer(() => endApp(app));
        const page = await openedWindow(app, scope);
        return {
          app: electronApp(app, page),
          page,
          drop: (paths) => dropOnWindow(page, paths),
        };
      };
    },
  };
}

/**
 * Bundles the script that runs before the app's main file, together with that file.
 *
 * @param file to write
 */
export async function buildEntry(file: string, main: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, 'electron-entry.ts')],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    external: ['electron'],
    footer: { js: `require(${JSON.stringify(main)});` },
    logLevel: 'warning',
  });
}

function environment(directory: string): Record<string, string> {
  const given = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return {
    ...Object.fromEntries(given),
    [DIRECTORY_VARIABLE]: directory,
    // Start at login writes to this directory.
    XDG_CONFIG_HOME: join(directory, 'config'),
    XDG_RUNTIME_DIR: directory,
  };
}

async function openedWindow(app: ElectronApplication, scope: Scope): Promise<Page> {
  const page = await app.firstWindow({ timeout: START_TIMEOUT_MS });
  watchPage(scope, page);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  return page;
}

/** A file that a page creates has no path, but a dragged one does. */
async function dropOnWindow(page: Page, paths: readonly string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', {
      type,
      x: 100,
      y: 100,
      data: { items: [], files: [...paths], dragOperationsMask: 1 },
    });
  await session.detach();
}

async function endApp(app: ElectronApplication): Promise<void> {
  const program = app.process();
  try {
    await within(END_TIMEOUT_MS, 'the end of the app', app.close());
  } finally {
    // Nothing that a test started outlives it.
    program.kill('SIGKILL');
  }
}

function electronApp(app: ElectronApplication, page: Page): RunningApp {
  const outside = (): Promise<ElectronOutside> =>
    app.evaluate(() => (globalThis as unknown as EntryGlobals).culvertOutside);
  return {
    async tunnel() {
      const answer = await page.evaluate(() =>
        (globalThis as unknown as PageGlobals).culvert.call('snapshot:get'),
      );
      if (!answer.ok) throw new Error(answer.error.text);
      return newest(answer.value.tunnels);
    },
    copied: async () => (await outside()).copied,
    opened: async () => (await outside()).opened,
    theme: () => app.evaluate(({ nativeTheme }) => nativeTheme.themeSource),
    chooseNext: (folder) =>
      app.evaluate(
        (_given, chosen) => void ((globalThis as unknown as EntryGlobals).culvertOutside.folder = chosen),
        folder,
      ),
    // As on Linux and Windows: the system starts the app a second time.
    openLink: (link) =>
      app.evaluate((given, chosen) => void given.app.emit('second-instance', {}, ['culvert', chosen]), link),
    suspend: () => app.evaluate(({ powerMonitor }) => void powerMonitor.emit('suspend')),
    wake: () => app.evaluate(({ powerMonitor }) => void powerMonitor.emit('resume')),
  };
}

/** The globals that the preload exposes. */
interface PageGlobals {
  readonly culvert: { call(channel: 'snapshot:get'): Promise<Answer<Snapshot>> };
}

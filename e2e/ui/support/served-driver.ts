/** Step 4: the window that `culvert ui` serves, with its core and its server in the process of the test. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import {
  BROWSER_CHANNELS,
  browserPlatform,
  BrowserWindow,
} from '../../../desktop/app/browser/browser-window.ts';
import type { About } from '../../../desktop/app/ipc/ipc.ts';
import { type Core, createCore, POLL_VISIBLE_MS } from '../../../desktop/app/main/core.ts';
import { PORTS_INTERVAL_MS } from '../../../desktop/app/main/port-watch.ts';
import { projectLinks, readDeepLink } from '../../../desktop/app/main/deep-link.ts';
import { systemEncryption, xdgAutostart } from '../../../desktop/app/main/electron/platform.ts';
import { GlobalShortcutKey } from '../../../desktop/app/main/global-shortcut.ts';
import { CHANNEL_NAMES } from '../../../desktop/app/main/handlers/channels.ts';
import type { Platform } from '../../../desktop/app/main/platform.ts';
import { createPortScan } from '../../../desktop/app/main/ports.ts';
import { readToImport } from '../../../desktop/app/main/requests.ts';
import { systemClock, type Timer } from '../../../desktop/client/clock.ts';
import { DurableFile } from '../../../desktop/client/config/durable-file.ts';
import { Network } from '../../../desktop/client/network/network.ts';
import { VERSION } from '../../../shared/version.ts';
import type { Scope } from '../../support/scope.ts';
import { dropOnWindow, listen, openPage } from './app-window.ts';
import { FAKE_KEY_STORE } from './electron-outside.ts';
import { type Driver, newest, type RunningApp, sharedBrowser, sharedWindow } from './running-app.ts';

const SERVED_FILES = join(import.meta.dirname, '../../../dist/desktop/window');

/** Pauses between looks at the relay and at the ports. A test waits for several of them. */
const PAUSES = [POLL_VISIBLE_MS, PORTS_INTERVAL_MS];

const ABOUT: About = {
  version: VERSION,
  versions: [{ name: 'Node', version: process.versions.node }],
  licences: [{ name: 'Culvert', licence: 'MIT' }],
};

/** @param isApp whether the window has what only Electron has, from fakes */
export function servedDriver({ isApp }: { readonly isApp: boolean }): Driver {
  return {
    async begin() {
      const [browser, built] = await Promise.all([sharedBrowser(), isApp ? sharedWindow() : SERVED_FILES]);
      return async (scope, directory) => {
        const chosen: Chosen = { folder: undefined };
        const { core, link } = await startCore(scope, directory, built, isApp, chosen);
        const page = await openPage(scope, browser, link, { reducedMotion: 'reduce' });
        await page.getByRole('main').waitFor();
        return {
          app: servedApp(core, page, chosen),
          page,
          drop: (paths) => dropOnWindow(page, paths),
        };
      };
    },
  };
}

/** What the user chooses in the next dialogs. */
interface Chosen {
  folder: string | undefined;
}

/** Composes what `openWindow` of desktop/app/browser does; ends with the scope, without calls to the relay. */
async function startCore(
  scope: Scope,
  dataDirectory: string,
  built: string,
  isApp: boolean,
  chosen: Chosen,
): Promise<{ core: Core; link: string }> {
  mkdirSync(dataDirectory, { recursive: true });
  const timers = new Set<Timer>();
  let isOver = false;
  const network = new Network({});
  const platform = {
    ...browserPlatform({
      machine: {
        platform: process.platform,
        env: { XDG_RUNTIME_DIR: dataDirectory, TMPDIR: dataDirectory },
        home: dataDirectory,
      },
      about: ABOUT,
      links: projectLinks('https://home.test', VERSION),
      networkTo: () => network,
      dataDirectory,
      say: () => undefined,
    }),
    ...(isApp ? ofElectron(dataDirectory) : {}),
    // The dialog in which a browser asks for it is tested with the program (browser.test.ts).
    chooseFolder: () => Promise.resolve(chosen.folder),
    // The services of a test are in the same process.
    scanPorts: createPortScan(process.platform, () => new Set()),
    clock: {
      ...systemClock,
      setTimeout(callback: () => void, ms: number): Timer {
        // Otherwise, work in progress at the end would continue forever.
        if (isOver) return { cancel: () => undefined };
        const timer = systemClock.setTimeout(
          () => {
            timers.delete(timer);
            callback();
          },
          PAUSES.includes(ms) ? ms / 4 : ms,
        );
        timers.add(timer);
        return timer;
      },
    },
  };
  const core = await createCore(platform);
  scope.defer(() => {
    // Not by stopping them: a status check in progress would close them at the relay.
    for (const { tunnelList } of core.sessions)
      for (const { served } of tunnelList.tunnels) served.end('replaced', 'The test is over.');
    isOver = true;
    core.close();
    for (const timer of timers) timer.cancel();
    // After a restart the app finds its stored state.
    return core.store.change({});
  });
  const channels = isApp ? new Set<string>(CHANNEL_NAMES) : BROWSER_CHANNELS;
  const { server } = new BrowserWindow({ core, platform, directory: built, isRemote: false, channels });
  const link = await listen(scope, server);
  await core.start();
  return { core, link };
}

/** What a browser lacks: a key store, a global shortcut, start at login, and dialogs for files, answered immediately. */
function ofElectron(directory: string): Partial<Platform> {
  return {
    encryption: systemEncryption(FAKE_KEY_STORE as Parameters<typeof systemEncryption>[0], process.platform),
    autostart: xdgAutostart(join(directory, 'config'), '/opt/Culvert/culvert'),
    summonKey: new GlobalShortcutKey({
      // Another program has registered one of them.
      register: (accelerator: string) => accelerator !== 'Alt+Shift+C',
      unregister: () => undefined,
    }),
    chooseFileToWrite(name) {
      const file = new DurableFile(join(directory, name));
      return Promise.resolve({ path: file.path, write: (text) => file.write(text) });
    },
    chooseHarToRead: () => readToImport(join(directory, 'import.har')),
  };
}

interface PageGlobals {
  readonly outside: { readonly copied: string[]; readonly opened: string[] };
}

function servedApp(core: Core, page: Page, chosen: Chosen): RunningApp {
  return {
    tunnel: () => Promise.resolve(newest(core.snapshots.make().tunnels)),
    copied: () => page.evaluate(() => (globalThis as unknown as PageGlobals).outside.copied),
    opened: () => page.evaluate(() => (globalThis as unknown as PageGlobals).outside.opened),
    theme: async () => (await page.locator(':root').getAttribute('data-theme')) ?? '',
    chooseNext: (folder) => Promise.resolve(void (chosen.folder = folder)),
    openLink(link) {
      const read = readDeepLink(link);
      if (read?.opens === 'invitation') core.openInvitation(read.address);
      return Promise.resolve();
    },
    suspend: () => Promise.resolve(core.suspend()),
    wake: () => Promise.resolve(core.resume()),
  };
}

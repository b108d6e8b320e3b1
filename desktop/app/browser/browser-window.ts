/**
 * The window of the core in browsers: answers pages, and tells them what changes. The system around the core is then Node,
 * and what the browser does for it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { LongTimer } from '../../../shared/timer.ts';
import { type Clock, systemClock } from '../../client/clock.ts';
import type { Machine } from '../../client/config/stored-login.ts';
import { networkAddresses } from '../../client/control/machine-watch.ts';
import type { Network } from '../../client/network/network.ts';
import { encodePush } from '../../client/methods/peer.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import type { About } from '../ipc/ipc.ts';
import { type Core, followLanguage } from '../main/core.ts';
import type { ProjectLinks } from '../main/deep-link.ts';
import { Notifier, type ShownNotification } from '../main/electron/notifier.ts';
import { CallFailure } from '../main/failure.ts';
import { refuse } from '../../client/methods/method.ts';
import { answerPage, CHANNEL_NAMES, type Channels, runAsked } from '../main/handlers/channels.ts';
import { nodePlatform } from '../main/node-platform.ts';
import type { Platform } from '../main/platform.ts';
import { createPortScan } from '../main/ports.ts';
import { importTooLarge } from '../main/requests.ts';
import { t, type TextKey } from '../messages/translate.ts';
import type { Page } from './page.ts';
import { WindowServer } from './window-server.ts';
import { IMPORT_MAX_BYTES } from '../../client/inspector/import-text.ts';

interface BrowserWindowOptions {
  readonly core: Core;
  readonly platform: BrowserPlatform;
  /** directory of the built renderer */
  readonly directory: string;
  /** whether other machines may use the window */
  readonly isRemote: boolean;
  /** channels that its pages may use */
  readonly channels: ReadonlySet<string>;
}

/** What a browser's page may not ask for: it knows no paths, and the terminal ends the program. */
const APP_ONLY: ReadonlySet<string> = new Set<keyof Channels>(['folder:drop', 'app:quit', 'app:update']);
export const BROWSER_CHANNELS: ReadonlySet<string> = new Set(
  CHANNEL_NAMES.filter((name) => !APP_ONLY.has(name)),
);
/** What the window of a command is about: the tunnels of the command, which creates and closes them itself. */
const OF_COMMAND =
  /^(?:snapshot|lock|token|link|knock|agent|log|import|bench|signature|relay|checkup|undo|settings|text):|^tunnel:(?:extend|copy-url|open-url|copy-share)$|^app:(?:about|open-link)$/;
export const COMMAND_CHANNELS: ReadonlySet<string> = new Set(
  CHANNEL_NAMES.filter((name) => OF_COMMAND.test(name)),
);

export class BrowserWindow {
  readonly server: WindowServer;
  readonly #options: BrowserWindowOptions;
  readonly #notifications = new Map<number, () => void>();
  #lastNotification = 0;

  constructor(options: BrowserWindowOptions) {
    this.#options = options;
    const { core, platform, directory, isRemote } = options;
    this.server = new WindowServer({
      directory,
      isRemote,
      clock: platform.clock,
      handler: {
        call: (channel, payload, page) => this.#call(channel, payload, page),
        stateChanged: (page) => this.#stateChanged(page),
        clicked: (id) => this.#notifications.get(id)?.(),
        closed: () => this.#lookAtPages(),
      },
    });
    core.snapshots.listen((snapshot) => {
      const message = encodePush('snapshot:changed', snapshot);
      for (const page of this.server.pages) if (page.state.isVisible) page.pushLatest(message);
    });
    const notifier = new Notifier({
      create: ({ title = '', body = '' }) => this.#notification(title, body),
      // Notifications of a page have no buttons, as on Linux.
      platform: 'linux',
      isSupported: () => this.#notifiedPage !== undefined,
      onShow: (key) => {
        if (key === undefined) return;
        core.chooseFor(key);
        this.#notifiedPage?.push('tunnel:show', { key });
      },
      ask: (asked) =>
        void runAsked(asked, core).catch((error: unknown) =>
          platform.report('acting on a notification', error),
        ),
    });
    core.notices.listen((notice) => notifier.notify(notice));
  }

  /** The page that shows notifications: one is enough. */
  get #notifiedPage(): Page | undefined {
    return this.server.pages.find(({ state }) => state.canNotify);
  }

  #call(channel: string, payload: unknown, page: Page) {
    const { core, platform, channels } = this.#options;
    if (!channels.has(channel))
      return Promise.resolve(refuse({ code: 'no-such-method', text: t('problem.wrong') }));
    return platform.runFor(page, () => answerPage(core, channel, payload, platform.report));
  }

  #stateChanged(page: Page): void {
    const { core, platform } = this.#options;
    const { languages, isVisible } = page.state;
    if (languages.length > 0 && languages.join() !== platform.preferredLanguages().join()) {
      platform.setLanguages(languages);
      followLanguage(core.store, platform);
      core.snapshots.changed();
    }
    this.#lookAtPages();
    if (isVisible) page.pushLatest(encodePush('snapshot:changed', core.snapshots.make()));
  }

  #lookAtPages(): void {
    const { core } = this.#options;
    const states = this.server.pages.map(({ state }) => state);
    core.setVisible(states.some(({ isVisible }) => isVisible));
    core.setInFront(states.some(({ isInFront }) => isInFront));
  }

  #notification(title: string, body: string): ShownNotification {
    const id = (this.#lastNotification += 1);
    const page = this.#notifiedPage;
    const notification = {
      on: (event: string, listener: () => void) => {
        if (event === 'click') this.#notifications.set(id, listener);
        return notification;
      },
      show: () => page?.push('notice:show', { id, title, body }),
      close: () => {
        this.#notifications.delete(id);
        page?.push('notice:withdraw', { id });
      },
    };
    // Only what the notifier uses of Electron's.
    return notification as unknown as ShownNotification;
  }
}

interface BrowserPlatformOptions {
  readonly machine: Machine;
  readonly about: About;
  readonly links: ProjectLinks;
  /** the way to each relay */
  readonly networkTo: (relay: RelayAddress) => Network;
  /** directory of the app's files; `undefined` for the window of a command */
  readonly dataDirectory: string | undefined;
  /** Shows a line on the terminal. */
  readonly say: (text: string) => void;
}

export type BrowserPlatform = ReturnType<typeof browserPlatform>;

/** Its timers do not keep the process alive, which ends with the server. */
const CLOCK: Clock = {
  ...systemClock,
  setTimeout: (callback, ms) => new LongTimer(callback, ms, false),
};

export function browserPlatform(options: BrowserPlatformOptions) {
  const { machine, about, links, networkTo, dataDirectory, say } = options;
  const { platform } = machine;
  const pages = new AsyncLocalStorage<Page>();
  const thePage = (): Page => {
    const page = pages.getStore();
    if (page === undefined) throw new Error('no page has asked for this');
    return page;
  };
  let languages: readonly string[] = [Intl.DateTimeFormat().resolvedOptions().locale];
  const report = (what: string, error: unknown): void =>
    say(`${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  const platformOfPages: Platform = {
    ...nodePlatform(machine, networkTo, report),
    clock: CLOCK,
    dataDirectory,
    // A page has no key store. The key is stored as `culvert login` stores it, if the user wants that.
    encryption: {
      isReal: () => Promise.resolve(false),
      encrypt: () => Promise.reject(new Error('there is no key store')),
      decrypt: () => Promise.reject(new Error('there is no key store')),
    },
    autostart: undefined,
    summonKey: undefined,
    showsTrayIcons: undefined,
    about,
    links,
    scanPorts: createPortScan(platform, () => new Set([process.pid])),
    hasNetwork: () => networkAddresses() !== '',
    preferredLanguages: () => languages,
    async copy(text) {
      assertDone(await thePage().ask('copy', text), 'browser.notCopied');
    },
    chooseFileToWrite(name) {
      const page = thePage();
      return Promise.resolve({
        path: name,
        async write(text) {
          if (!(await page.ask('save', { name, text }))) throw new Error(t('browser.notSaved'));
        },
      });
    },
    chooseFolder: () => thePage().askForFolder(t('browser.whichFolder')),
    async chooseHarToRead() {
      const file = await thePage().askForFile({ accept: '.har,.json', maxBytes: IMPORT_MAX_BYTES });
      if (file === undefined) return undefined;
      if (file.size > IMPORT_MAX_BYTES) throw importTooLarge(file.name, file.size);
      return new TextDecoder().decode(file.content);
    },
    async open(url) {
      assertDone(await thePage().ask('open', url), 'browser.notOpened');
    },
    tell: ({ text }) => say(text),
    setTheme: () => undefined,
  };
  return Object.assign(platformOfPages, {
    /** Does what a page asks for: its browser copies, opens and saves. */
    runFor: <T>(page: Page, work: () => T): T => pages.run(page, work),
    /** Sets the languages of the user's browser, best first. */
    setLanguages(tags: readonly string[]): void {
      languages = tags;
    },
  });
}

/** @throws CallFailure unless the browser has done it */
function assertDone(isDone: boolean, key: TextKey): void {
  if (!isDone) throw new CallFailure({ code: 'browser', text: t(key) });
}

/** The window of the core in browsers: answers pages, and tells them what changes. */
import type { ShownNotification } from '../main/electron/notifier.ts';
import { Notifier } from '../main/electron/notifier.ts';
import { t } from '../messages/translate.ts';
import { type Core, followLanguage } from '../main/core.ts';
import { answerCall, refuse } from '../main/handlers/answer.ts';
import { CHANNEL_NAMES, CHANNELS, type Channels } from '../main/handlers/channels.ts';
import type { BrowserPlatform } from './browser-platform.ts';
import { encodeMessage, type Page, type PageHandler } from './page.ts';
import { WindowServer } from './window-server.ts';

export interface BrowserWindowOptions {
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
  /^(?:snapshot|lock|token|link|knock|log|import|bench|signature|relay|checkup|undo|settings|text):|^tunnel:(?:extend|copy-url|open-url|copy-share)$|^app:(?:about|open-link)$/;
export const COMMAND_CHANNELS: ReadonlySet<string> = new Set(
  CHANNEL_NAMES.filter((name) => OF_COMMAND.test(name)),
);

/** How long a notification's "Extend" extends a tunnel. */
const EXTEND_TTL = '1h';

export class BrowserWindow {
  readonly server: WindowServer;
  readonly #options: BrowserWindowOptions;
  readonly #notifications = new Map<number, () => void>();
  #lastNotification = 0;

  constructor(options: BrowserWindowOptions) {
    this.#options = options;
    const { core, platform, directory, isRemote } = options;
    const handler: PageHandler = {
      call: (channel, payload, page) => this.#call(channel, payload, page),
      stateChanged: (page) => this.#stateChanged(page),
      clicked: (id) => this.#notifications.get(id)?.(),
    };
    this.server = new WindowServer({
      directory,
      isRemote,
      clock: platform.clock,
      handler: { ...handler, opened: () => undefined, closed: () => this.#lookAtPages() },
    });
    core.snapshots.listen((snapshot) => {
      const message = encodeMessage({ kind: 'push', name: 'snapshot:changed', value: snapshot });
      for (const page of this.server.pages) if (page.state.isVisible) page.pushLatest(message);
    });
    const notifier = new Notifier({
      create: ({ title = '', body = '' }) => this.#notification(title, body),
      // Notifications of a page have no buttons, as on Linux.
      platform: 'linux',
      isSupported: () => this.#notifiedPage !== undefined,
      onShow: (key) => {
        if (key !== undefined) this.#notifiedPage?.push('tunnel:show', { key });
      },
      onExtend: (key) => this.#inBackground(CHANNELS['tunnel:extend'].run({ key, ttl: EXTEND_TTL }, core)),
      onAnswer: () => undefined,
      onReleases: () => undefined,
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
      return Promise.resolve(refuse({ code: 'no-such-channel', text: t('problem.wrong') }));
    return platform.runFor(page, () => answerCall(channel as keyof Channels, payload, core, platform.report));
  }

  #stateChanged(page: Page): void {
    const { core, platform } = this.#options;
    const { languages, isVisible } = page.state;
    if (languages.length > 0 && languages.join() !== platform.languages.join()) {
      platform.languages = languages;
      followLanguage(core.store, platform);
      core.snapshots.changed();
    }
    this.#lookAtPages();
    if (isVisible)
      page.pushLatest(
        encodeMessage({ kind: 'push', name: 'snapshot:changed', value: core.snapshots.make() }),
      );
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
      show: () => page?.notify(id, title, body),
      close: () => {
        this.#notifications.delete(id);
        page?.send({ kind: 'withdraw', id });
      },
    };
    // Only what the notifier uses of Electron's.
    return notification as unknown as ShownNotification;
  }

  #inBackground(work: Promise<void> | void): void {
    Promise.resolve(work).catch((error: unknown) =>
      this.#options.platform.report('acting on a notification', error),
    );
  }
}

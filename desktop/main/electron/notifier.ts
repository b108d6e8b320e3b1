import type { Notification as ElectronNotification, NotificationConstructorOptions } from 'electron';
import type { Notice } from '../notices/notices.ts';

/** What is used of a notification. */
export type ShownNotification = Pick<ElectronNotification, 'on' | 'show'>;

export interface NotifierOptions {
  readonly create: (options: NotificationConstructorOptions) => ShownNotification;
  readonly platform: NodeJS.Platform;
  readonly isSupported: () => boolean;
  readonly onShow: () => void;
  readonly onExtend: (key: string) => void;
  /** Shows where new versions are. */
  readonly onReleases: () => void;
}

/** Only macOS and Windows show buttons. */
const WITH_BUTTONS: ReadonlySet<NodeJS.Platform> = new Set(['darwin', 'win32']);

/** Shows notices. Without buttons, a click on "expires soon" does what the button would. */
export class Notifier {
  readonly #options: NotifierOptions;
  /** A notification without a reference is garbage-collected, and its click is lost. One per tunnel and kind is enough. */
  readonly #shown = new Map<string, ShownNotification>();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  notify(notice: Notice): void {
    const { create, platform, isSupported, onShow, onExtend, onReleases } = this.#options;
    if (!isSupported()) return;
    const { kind, key, title, text } = notice;
    const canExtend = kind === 'expires-soon' && key !== undefined;
    const hasButtons = WITH_BUTTONS.has(platform);
    const notification = create({
      title,
      body: canExtend && !hasButtons ? `${text} Click to extend it by 1 hour.` : text,
      ...(canExtend && hasButtons ? { actions: [{ type: 'button', text: 'Extend by 1 hour' }] } : {}),
    });
    const extend = (): void => {
      if (canExtend) onExtend(key);
    };
    notification.on('action', extend);
    const open = kind === 'new-version' ? onReleases : onShow;
    notification.on('click', canExtend && !hasButtons ? extend : open);
    this.#shown.set(`${kind} ${key ?? ''}`, notification);
    notification.show();
  }
}

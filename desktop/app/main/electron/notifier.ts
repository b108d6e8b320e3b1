import type { Notification as ElectronNotification, NotificationConstructorOptions } from 'electron';
import { t } from '../../messages/translate.ts';
import type { Asked } from '../handlers/channels.ts';
import { APPROVED_TTL, EXTEND_TTL, type Notice } from '../notices.ts';

/** What is used of a notification. */
export type ShownNotification = Pick<ElectronNotification, 'on' | 'show' | 'close'>;

interface NotifierOptions {
  readonly create: (options: NotificationConstructorOptions) => ShownNotification;
  readonly platform: NodeJS.Platform;
  readonly isSupported: () => boolean;
  /** Shows the window, on the card of a tunnel if it is about one. */
  readonly onShow: (key: string | undefined) => void;
  readonly ask: (asked: Asked) => void;
}

/** Only macOS and Windows show buttons. */
const WITH_BUTTONS: ReadonlySet<NodeJS.Platform> = new Set(['darwin', 'win32']);

/** Notifications that can still be clicked. */
const SHOWN_MAX = 100;

/** Subject of a notice: a new notice replaces the previous one on the same subject. */
const SUBJECTS: Readonly<Record<Notice['kind'], string>> = {
  'first-visitor': 'visitor',
  'expires-soon': 'time',
  expired: 'time',
  lost: 'connection',
  back: 'connection',
  knock: 'knock',
  'key-refused': 'key',
  'tray-hint': 'tray',
  'new-version': 'version',
};

/** Where new versions are. */
const RELEASES: Asked = { channel: 'app:open-link', payload: { link: 'releases' } };

/** What one does with a notification. */
interface Reaction {
  readonly buttons: readonly { readonly text: string; readonly press: () => void }[];
  readonly click: () => void;
  /** the text without buttons, which includes what a click does */
  readonly instead: string;
}

/**
 * Shows notices. Without buttons, a click on "expires soon" does what the button would; a click never approves a
 * visitor.
 */
export class Notifier {
  readonly #options: NotifierOptions;
  /**
   * A notification without a reference is garbage-collected, and its click is lost. One per subject and kind is enough.
   */
  readonly #shown = new Map<string, ShownNotification>();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  notify(notice: Notice): void {
    const { create, platform, isSupported } = this.#options;
    if (!isSupported()) return;
    const { kind, key, knock, title, text } = notice;
    const { buttons, click, instead } = this.#reaction(notice);
    const hasButtons = buttons.length > 0 && WITH_BUTTONS.has(platform);
    const notification = create({
      title,
      body: hasButtons ? text : instead,
      ...(hasButtons ? { actions: buttons.map((button) => ({ type: 'button', text: button.text })) } : {}),
    });
    notification.on('action', ({ actionIndex }) => buttons[actionIndex]?.press());
    const [button] = buttons;
    notification.on('click', kind === 'expires-soon' && !hasButtons ? (button?.press ?? click) : click);
    this.#keep(`${SUBJECTS[kind]} ${key ?? ''} ${knock ?? ''}`, notification);
    notification.show();
  }

  /** Takes back every notice: the user has read them. */
  withdraw(): void {
    for (const notification of this.#shown.values()) notification.close();
    this.#shown.clear();
  }

  #reaction({ kind, key, knock, text }: Notice): Reaction {
    const { onShow, ask } = this.#options;
    const click =
      kind === 'new-version' ? () => ask(RELEASES) : () => onShow(knock === undefined ? undefined : key);
    if (key !== undefined && kind === 'expires-soon') {
      const extend = {
        text: t('notice.extend'),
        press: () => ask({ channel: 'tunnel:extend', payload: { key, ttl: EXTEND_TTL } }),
      };
      return { buttons: [extend], click, instead: t('notice.clickToExtend', { text }) };
    }
    if (key !== undefined && knock !== undefined) {
      const admit: Asked = { channel: 'knock:admit', payload: { key, id: knock, ttl: APPROVED_TTL } };
      const refuse: Asked = { channel: 'knock:refuse', payload: { key, id: knock } };
      return {
        buttons: [
          { text: t('notice.admit'), press: () => ask(admit) },
          { text: t('notice.refuse'), press: () => ask(refuse) },
        ],
        click,
        instead: t('notice.clickToAnswer', { text }),
      };
    }
    return { buttons: [], click, instead: text };
  }

  /** A notice replaces an earlier one on the same subject. */
  #keep(subject: string, notification: ShownNotification): void {
    this.#shown.get(subject)?.close();
    this.#shown.delete(subject);
    this.#shown.set(subject, notification);
    const [oldest] = this.#shown.keys();
    if (this.#shown.size > SHOWN_MAX && oldest !== undefined) this.#shown.delete(oldest);
  }
}

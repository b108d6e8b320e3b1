/**
 * The page's only way to main in a browser: one WebSocket to the server that the page came from. It connects again
 * whenever it is lost, for example because the machine slept.
 */
import { Peer } from '../../../client/methods/peer.ts';
import type { Answer, Pushes } from '../../ipc/ipc.ts';
import {
  type Asks,
  type BrowserPushes,
  type ChosenFile,
  KEY_HEADER,
  type PagePushes,
  type PageState,
  SESSION_OPEN,
  SESSION_PATH,
  SOCKET_PATH,
  SOCKET_PROTOCOL,
} from '../../ipc/wire.ts';
import { t } from '../../messages/translate.ts';
import type { Bridge, BrowserAbilities, Channels } from '../bridge.ts';

/** Where the page keeps its key. Other servers on this machine have other origins, and cannot read it. */
const KEY = 'culvert-key';
/** ms between two attempts to connect: first and at most. */
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 4000;
/** ms without contact after which the user is told. */
const LOST_MS = 1500;
/** How often a visible page asks for a sign of life, and how long it waits for one; ms. */
const PING_MS = 20_000;
const PONG_MS = 5000;
/** How long the server has to answer a request, and to accept the WebSocket; ms. */
const ANSWER_MS = 10_000;
/** The page trusts the program that it comes from. */
const NO_LIMITS = { maxBytes: Infinity, maxCalls: Infinity };

type Listener = (value: never) => void;

export class BrowserBridge implements Bridge {
  readonly #listeners = new Map<string, Set<Listener>>();
  /** calls that are sent once there is a connection */
  #waiting: ((peer: Peer) => void)[] = [];
  readonly #notices = new Map<number, Notification>();
  readonly #bar: HTMLElement;
  #socket: WebSocket | undefined;
  /** over the socket, once it is open */
  #peer: Peer | undefined;
  #version: string | undefined;
  #retryMs = RETRY_FIRST_MS;
  #retry: number | undefined;
  #lost: number | undefined;
  #silence: number | undefined;
  /** whether the token of the link was exchanged, if it had one */
  #hasEntered = false;
  /** the page needs a new link */
  #isOver = false;

  constructor() {
    this.#bar = document.createElement('p');
    this.#bar.className = 'contact-lost';
    this.#bar.setAttribute('role', 'alert');
    document.body.append(this.#bar);
    for (const event of ['visibilitychange', 'focus', 'blur', 'pageshow', 'online'])
      (event === 'visibilitychange' ? document : window).addEventListener(event, () => this.#changed());
    // The browser would open what nobody takes, and cannot tell where a folder is.
    addEventListener('dragover', (event) => {
      event.preventDefault();
      if (event.dataTransfer !== null) event.dataTransfer.dropEffect = 'none';
    });
    addEventListener('drop', (event) => event.preventDefault());
    window.setInterval(() => this.#ping(), PING_MS);
    this.#wait();
    void this.#enter();
  }

  readonly browser: BrowserAbilities = {
    get notifies() {
      if (!('Notification' in window)) return 'no';
      const { permission } = Notification;
      return permission === 'default' ? 'ask' : permission === 'granted' ? 'yes' : 'no';
    },
    askToNotify: async () => {
      await Notification.requestPermission();
      this.#sendState();
    },
  };

  call<C extends keyof Channels>(
    channel: C,
    payload: Channels[C]['payload'],
  ): Promise<Answer<Channels[C]['result']>> {
    return new Promise((resolve) => {
      const send = (peer: Peer): void =>
        void peer.call(channel, payload).then((answer) => resolve(answer as Answer<Channels[C]['result']>));
      if (this.#peer !== undefined) send(this.#peer);
      else if (!this.#isOver) this.#waiting.push(send);
    });
  }

  on<P extends keyof Pushes>(push: P, listener: (value: Pushes[P]) => void): () => void {
    const listeners = this.#listeners.get(push) ?? new Set<Listener>();
    this.#listeners.set(push, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Exchanges the token of the link, unless the page has a session already. */
  async #enter(): Promise<void> {
    const token = location.hash.slice(1);
    // Neither the history nor a bookmark keeps it.
    if (token !== '') history.replaceState(null, '', location.pathname);
    if (token !== '' && (await this.#hasSession()) !== true) {
      const key = await exchange(token);
      if (key !== undefined) localStorage.setItem(KEY, key);
    }
    this.#hasEntered = true;
    this.#connect();
  }

  /** @returns `undefined` if the server cannot be reached */
  async #hasSession(): Promise<boolean | undefined> {
    try {
      const headers = { [KEY_HEADER]: localStorage.getItem(KEY) ?? '' };
      return (
        (await (await fetch(SESSION_PATH, { headers, signal: AbortSignal.timeout(ANSWER_MS) })).text()) ===
        SESSION_OPEN
      );
    } catch {
      return undefined;
    }
  }

  #connect(): void {
    window.clearTimeout(this.#retry);
    const key = localStorage.getItem(KEY) ?? 'none';
    const socket = new WebSocket(`ws://${location.host}${SOCKET_PATH}`, [SOCKET_PROTOCOL, key]);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    const late = window.setTimeout(() => socket.close(), ANSWER_MS);
    const peer = new Peer(
      {
        ...NO_LIMITS,
        send({ parts, text }) {
          for (const part of parts) socket.send(part as Uint8Array<ArrayBuffer>);
          socket.send(text);
        },
        refuse: () => socket.close(),
      },
      {
        answer: (what, given) => doFor(what, given, this.browser),
        pushed: (name, value) => this.#pushed(name as keyof BrowserPushes, value as never),
        greeted: ({ version }) => {
          // The server is another version, with another page.
          if (this.#version !== undefined && this.#version !== version) location.reload();
          this.#version = version;
        },
      },
    );
    socket.addEventListener('open', () => {
      window.clearTimeout(late);
      this.#opened(peer);
    });
    socket.addEventListener('message', ({ data }) => {
      window.clearTimeout(this.#silence);
      if (data instanceof ArrayBuffer) peer.takeBytes(new Uint8Array(data));
      else peer.takeText(String(data));
    });
    socket.addEventListener('close', () => {
      if (this.#socket === socket) void this.#closed();
    });
  }

  #opened(peer: Peer): void {
    this.#peer = peer;
    this.#retryMs = RETRY_FIRST_MS;
    this.#found();
    this.#sendState();
    for (const send of this.#waiting.splice(0)) send(peer);
  }

  async #closed(): Promise<void> {
    // Whether main has done what it was asked to, nobody knows: asking again might do it twice.
    this.#peer?.close({ code: 'no-contact', text: t('browser.lost') });
    this.#peer = undefined;
    this.#socket = undefined;
    window.clearTimeout(this.#silence);
    for (const notice of this.#notices.values()) notice.close();
    this.#notices.clear();
    this.#wait();
    if ((await this.#hasSession()) === false) return this.#end();
    if (this.#socket !== undefined) return;
    this.#retry = window.setTimeout(() => this.#connect(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }

  /** Says soon that there is no contact. */
  #wait(): void {
    // Failed attempts to connect do not put it off.
    this.#lost ??= window.setTimeout(() => (this.#bar.textContent = t('browser.lost')), LOST_MS);
  }

  /** Takes that back. */
  #found(): void {
    window.clearTimeout(this.#lost);
    this.#lost = undefined;
    this.#bar.textContent = '';
  }

  /** The server does not know the page's session: it was started again, or the link was used elsewhere. */
  #end(): void {
    this.#isOver = true;
    this.#found();
    this.#bar.textContent = t('browser.newLink');
    // What it shows is no longer true, and nothing in it works.
    document.getElementById('root')?.remove();
  }

  #changed(): void {
    this.#sendState();
    if (document.hidden || this.#isOver || !this.#hasEntered) return;
    if (this.#socket === undefined) this.#connect();
    else this.#ping();
  }

  #sendState(): void {
    this.#push('page:state', pageState());
  }

  #push<P extends keyof PagePushes>(name: P, value: PagePushes[P]): void {
    this.#peer?.push(name, value);
  }

  /** A connection that a sleep has cut says nothing by itself. */
  #ping(): void {
    const socket = this.#socket;
    if (document.hidden || socket === undefined || this.#peer === undefined) return;
    window.clearTimeout(this.#silence);
    this.#silence = window.setTimeout(() => {
      if (this.#socket !== socket) return;
      socket.close();
      // Without the other end, its `close` event takes long.
      void this.#closed();
    }, PONG_MS);
    void this.#peer.ping();
  }

  #pushed<P extends keyof BrowserPushes>(
    name: P,
    value: BrowserPushes[P] & BrowserPushes['notice:show'],
  ): void {
    if (name === 'notice:show') return this.#notify(value);
    if (name === 'notice:withdraw') return this.#notices.get(value.id)?.close();
    for (const listener of this.#listeners.get(name) ?? []) listener(value as never);
  }

  #notify({ id, title, body }: BrowserPushes['notice:show']): void {
    const notice = new Notification(title, { body });
    this.#notices.set(id, notice);
    notice.addEventListener('click', () => {
      window.focus();
      this.#push('notice:clicked', { id });
    });
    notice.addEventListener('close', () => this.#notices.delete(id));
  }
}

/** @returns the key of the page; `undefined` if the token is not valid, or was used before */
async function exchange(token: string): Promise<string | undefined> {
  try {
    const response = await fetch(SESSION_PATH, {
      method: 'POST',
      body: token,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}

function pageState(): PageState {
  return {
    isVisible: !document.hidden,
    isInFront: document.hasFocus(),
    canNotify: 'Notification' in window && Notification.permission === 'granted',
    languages: navigator.languages,
  };
}

/** Does what main asks of the browser. */
async function doFor(
  what: string,
  given: unknown,
  abilities: BrowserAbilities | undefined,
): Promise<Answer<unknown>> {
  try {
    if (what === 'folder') return { ok: true, value: await abilities?.askForFolder?.(String(given)) };
    return { ok: true, value: await DOES[what as keyof typeof DOES](given as never) };
  } catch (error) {
    // Main has a word for the user.
    return { ok: false, error: { code: 'browser', text: String(error) } };
  }
}

type Does = {
  readonly [A in Exclude<keyof Asks, 'folder'>]: (
    given: Asks[A]['given'],
  ) => Asks[A]['result'] | Promise<Asks[A]['result']>;
};

const DOES: Does = {
  copy,
  open: (url) => window.open(url, '_blank') !== null,
  save({ name, text }) {
    const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    // The download has begun with the click.
    window.setTimeout(() => URL.revokeObjectURL(url), 60_000);
    return true;
  },
  file: chooseFile,
};

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP from another machine there is no clipboard, and some browsers want the click itself.
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  // A dialog makes everything outside of it inert.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

/** @returns `undefined` if the user chooses none */
async function chooseFile({ accept, maxBytes }: Asks['file']['given']): Promise<ChosenFile | undefined> {
  const field = document.createElement('input');
  field.type = 'file';
  field.accept = accept;
  const file = await new Promise<File | undefined>((resolve) => {
    field.addEventListener('change', () => resolve(field.files?.[0]));
    field.addEventListener('cancel', () => resolve(undefined));
    field.click();
  });
  if (file === undefined) return undefined;
  const { name, size } = file;
  return { name, size, content: new Uint8Array(size > maxBytes ? [] : await file.arrayBuffer()) };
}

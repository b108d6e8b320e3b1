/** One page in a browser, connected over its WebSocket. */
import type { WebSocket } from 'ws';
import { VERSION } from '../../../shared/version.ts';
import type { Clock } from '../../client/clock.ts';
import type { Answer, EncodedMessage, Peer } from '../../client/methods/peer.ts';
import { peerOver } from '../../client/methods/socket-peer.ts';
import type { Asks, BrowserPushes, ChosenFile, PagePushes, PageState } from '../ipc/wire.ts';
import { IMPORT_MAX_BYTES } from '../../client/inspector/import-text.ts';

/** Maximum size of a message from a page: a file to import is the largest. */
export const UI_MESSAGE_MAX_BYTES = IMPORT_MAX_BYTES + 1024;
/** Maximum number of calls of one page that wait for their answers; a page makes a few at a time. */
const UI_CALLS_MAX = 64;
/** Maximum amount that waits for a page that does not read: the largest export, in JSON. */
const UI_BACKLOG_MAX_BYTES = 128 * 1024 * 1024;
/** How long the browser has for what needs no answer of its user. */
const UI_ASK_TIMEOUT_MS = 10_000;
/** How long the user has to choose a file or a folder. */
const UI_CHOICE_TIMEOUT_MS = 10 * 60_000;
/** Maximum length of the path of a folder, and of the name of a file: paths are limited to this by systems. */
const UI_NAME_MAX_CHARS = 32_767;
/** Maximum number of languages that a page reports. */
const UI_LANGUAGES_MAX = 16;
/** Maximum length of the tag of a language. */
const UI_LANGUAGE_MAX_CHARS = 35;

/** What answers pages, and hears of them. */
export interface PageHandler {
  /** Never rejects. */
  readonly call: (channel: string, payload: unknown, page: Page) => Promise<Answer<unknown>>;
  /** called when a page is shown in another way */
  readonly stateChanged: (page: Page) => void;
  /** called when a notification was clicked, with its id */
  readonly clicked: (id: number) => void;
  /** called when a page is gone */
  readonly closed: (page: Page) => void;
}

const LIMITS = {
  maxBytes: UI_MESSAGE_MAX_BYTES,
  maxCalls: UI_CALLS_MAX,
  backlogBytes: UI_BACKLOG_MAX_BYTES,
};

export class Page {
  readonly #socket: WebSocket;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #handler: PageHandler;
  readonly #peer: Peer;
  #state: PageState = { isVisible: false, isInFront: false, canNotify: false, languages: [] };
  /** Whether the last snapshot is still being sent, and the one that follows it. */
  #isSending = false;
  #next: EncodedMessage | undefined;
  #isAlive = true;

  constructor(socket: WebSocket, clock: Pick<Clock, 'setTimeout'>, handler: PageHandler) {
    this.#socket = socket;
    this.#clock = clock;
    this.#handler = handler;
    for (const event of ['pong', 'message']) socket.on(event, () => (this.#isAlive = true));
    socket.on('close', () => {
      this.#state = { ...this.#state, isVisible: false, isInFront: false, canNotify: false };
    });
    this.#peer = peerOver(
      socket,
      {
        answer: (channel, payload) => handler.call(channel, payload, this),
        pushed: (name, value) => this.#pushed(name as keyof PagePushes, value),
      },
      LIMITS,
    );
    this.#peer.greet(VERSION);
  }

  get state(): PageState {
    return this.#state;
  }

  push<P extends keyof BrowserPushes>(name: P, value: BrowserPushes[P]): void {
    this.#peer.push(name, value);
  }

  /**
   * Sends a snapshot, encoded. While the page does not take one, only the newest waits.
   */
  pushLatest(message: EncodedMessage): void {
    if (this.#isSending) {
      this.#next = message;
      return;
    }
    this.#isSending = true;
    this.#peer.send(message, () => {
      this.#isSending = false;
      const next = this.#next;
      this.#next = undefined;
      if (next !== undefined) this.pushLatest(next);
    });
  }

  /**
   * Asks the browser to do something.
   *
   * @returns whether it has done that, in time
   */
  async ask<A extends 'copy' | 'open' | 'save'>(what: A, given: Asks[A]['given']): Promise<boolean> {
    return (await this.#ask(what, given, UI_ASK_TIMEOUT_MS)) === true;
  }

  /** Asks the user for the path of a folder. */
  async askForFolder(question: string): Promise<string | undefined> {
    const path = await this.#ask('folder', question, UI_CHOICE_TIMEOUT_MS);
    return typeof path === 'string' && path !== '' && path.length <= UI_NAME_MAX_CHARS ? path : undefined;
  }

  /** Asks the user for a file. @param wanted names of types, as in HTML; one that is larger has no content */
  async askForFile(wanted: Asks['file']['given']): Promise<ChosenFile | undefined> {
    const given = (await this.#ask('file', wanted, UI_CHOICE_TIMEOUT_MS)) ?? {};
    const { name, size, content } = given as Partial<ChosenFile>;
    if (typeof name !== 'string' || typeof size !== 'number' || !(content instanceof Uint8Array))
      return undefined;
    return { name: name.slice(0, UI_NAME_MAX_CHARS), size, content };
  }

  /** Cuts the connection if nothing has come since the last time. */
  probe(): void {
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }

  /** The server ends. */
  close(): void {
    this.#socket.close(1001);
    this.#clock.setTimeout(() => this.#socket.terminate(), 1000);
  }

  /** @returns `undefined` if the page is gone, cannot do it, or does not answer in time */
  async #ask<A extends keyof Asks>(what: A, given: Asks[A]['given'], ms: number): Promise<unknown> {
    const late = new AbortController();
    const timer = this.#clock.setTimeout(() => late.abort(), ms);
    const answer = await this.#peer.call(what, given, late.signal);
    timer.cancel();
    return answer.ok ? answer.value : undefined;
  }

  #pushed(name: keyof PagePushes, value: unknown): void {
    const given = (value ?? {}) as Readonly<Record<string, unknown>>;
    switch (name) {
      case 'page:state':
        this.#state = readState(given);
        return this.#handler.stateChanged(this);
      case 'notice:clicked':
        return this.#handler.clicked(Number(given['id']));
    }
  }
}

function readState({
  isVisible,
  isInFront,
  canNotify,
  languages,
}: Readonly<Record<string, unknown>>): PageState {
  const tags: readonly unknown[] = Array.isArray(languages) ? languages : [];
  return {
    isVisible: isVisible === true,
    isInFront: isInFront === true,
    canNotify: canNotify === true,
    languages: tags
      .filter((tag): tag is string => typeof tag === 'string' && tag.length <= UI_LANGUAGE_MAX_CHARS)
      .slice(0, UI_LANGUAGES_MAX),
  };
}

/** One page in a browser, connected over its WebSocket. */
import type { WebSocket } from 'ws';
import { VERSION } from '../../../shared/version.ts';
import { type Clock, type Timer } from '../../client/clock.ts';
import type { Answer, Pushes } from '../ipc/ipc.ts';
import {
  type Asks,
  BYTES_FIELD,
  CALLS_MAX,
  type FromPage,
  type PageState,
  type ToPage,
} from '../ipc/wire.ts';
import { IMPORT_MAX_BYTES } from '../../client/inspector/import-text.ts';

/** @limit Maximum amount that waits for a page that does not read: the largest export, in JSON. */
const UI_BACKLOG_MAX_BYTES = 128 * 1024 * 1024;
/** @limit How long the browser has for what needs no answer of its user. */
const UI_ASK_TIMEOUT_MS = 10_000;
/** @limit How long the user has to choose a file or a folder. */
const UI_CHOICE_TIMEOUT_MS = 10 * 60_000;
/** @limit Maximum length of the path of a folder, and of the name of a file: paths are limited to this by systems. */
const UI_NAME_MAX_CHARS = 32_767;
/** @limit Maximum number of languages that a page reports. */
const UI_LANGUAGES_MAX = 16;
/** @limit Maximum length of the tag of a language. */
const UI_LANGUAGE_MAX_CHARS = 35;

/** What answers pages, and hears of them. */
export interface PageHandler {
  /** Never rejects. */
  readonly call: (channel: string, payload: unknown, page: Page) => Promise<Answer<unknown>>;
  /** called when a page is shown in another way */
  readonly stateChanged: (page: Page) => void;
  /** called when a notification was clicked, with the id of {@link Page.notify} */
  readonly clicked: (id: number) => void;
  /** called when a page is gone */
  readonly closed: (page: Page) => void;
}

/** A file that the user has chosen. */
interface ChosenFile {
  readonly name: string;
  /** in bytes */
  readonly size: number;
  /** empty if it is larger than {@link IMPORT_MAX_BYTES} */
  readonly content: Buffer;
}

interface Pending {
  readonly what: keyof Asks;
  readonly timer: Timer;
  /** `undefined` if the page is gone, or does not answer in time */
  readonly settle: (value: unknown) => void;
  /** of a file whose content follows */
  file?: { readonly name: string; readonly size: number };
}

/** The close code for a message that no page of ours sends (RFC 6455 section 7.4.1). */
const POLICY_VIOLATION = 1008;

export class Page {
  readonly #socket: WebSocket;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #handler: PageHandler;
  readonly #pending = new Map<number, Pending>();
  #state: PageState = { isVisible: false, isInFront: false, canNotify: false, languages: [] };
  #calls = 0;
  #lastAsk = 0;
  /** Whether the last snapshot is still being sent, and the one that follows it. */
  #isSending = false;
  #next: EncodedMessage | undefined;
  #isAlive = true;

  constructor(socket: WebSocket, clock: Pick<Clock, 'setTimeout'>, handler: PageHandler) {
    this.#socket = socket;
    this.#clock = clock;
    this.#handler = handler;
    socket.on('error', () => socket.terminate());
    socket.on('pong', () => (this.#isAlive = true));
    socket.on('message', (data: Buffer, isBinary) => {
      this.#isAlive = true;
      if (isBinary) this.#takeContent(data);
      else this.#take(data.toString());
    });
    socket.on('close', () => {
      this.#state = { ...this.#state, isVisible: false, isInFront: false, canNotify: false };
      for (const id of this.#pending.keys()) this.#settle(id, undefined);
    });
    this.send({ kind: 'hello', version: VERSION });
  }

  get state(): PageState {
    return this.#state;
  }

  send(message: ToPage): void {
    this.#write(encodeMessage(message));
  }

  push<P extends keyof Pushes>(name: P, value: Pushes[P]): void {
    this.send({ kind: 'push', name, value });
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
    this.#write(message, () => {
      this.#isSending = false;
      const next = this.#next;
      this.#next = undefined;
      if (next !== undefined) this.pushLatest(next);
    });
  }

  notify(id: number, title: string, body: string): void {
    this.send({ kind: 'notice', id, title, body });
  }

  /**
   * Asks the browser to do something.
   *
   * @returns whether it has done that, in time
   */
  async ask<A extends 'copy' | 'open' | 'save'>(what: A, given: Asks[A]['given']): Promise<boolean> {
    return (await this.#ask(what, given)) === true;
  }

  /** Asks the user for the path of a folder. */
  async askForFolder(question: string): Promise<string | undefined> {
    const path = await this.#ask('folder', question);
    return typeof path === 'string' && path !== '' && path.length <= UI_NAME_MAX_CHARS ? path : undefined;
  }

  /** Asks the user for a file. @param accept names of types, as in HTML */
  async askForFile(accept: string): Promise<ChosenFile | undefined> {
    return (await this.#ask('file', accept)) as ChosenFile | undefined;
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

  #write({ parts, text }: EncodedMessage, written: () => void = () => undefined): void {
    const length = parts.reduce((sum, part) => sum + part.length, text.length);
    // Such a page does not read, and would take up the memory of what it asks for.
    if (this.#socket.bufferedAmount + length > UI_BACKLOG_MAX_BYTES) return this.#socket.terminate();
    for (const part of parts) this.#socket.send(part);
    this.#socket.send(text, () => written());
  }

  #ask(what: keyof Asks, given: unknown): Promise<unknown> {
    const id = (this.#lastAsk += 1);
    const ms = what === 'file' || what === 'folder' ? UI_CHOICE_TIMEOUT_MS : UI_ASK_TIMEOUT_MS;
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => this.#settle(id, undefined), ms);
      this.#pending.set(id, { what, timer, settle: resolve });
      this.send({ kind: 'ask', id, what, given });
      if (this.#socket.readyState !== this.#socket.OPEN) this.#settle(id, undefined);
    });
  }

  #settle(id: number, value: unknown): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.timer.cancel();
    pending?.settle(value);
  }

  #take(text: string): void {
    const message = readMessage(text);
    switch (message?.kind) {
      case 'call':
        return this.#call(message);
      case 'result':
        return this.#result(message);
      case 'state':
        this.#state = message.state;
        return this.#handler.stateChanged(this);
      case 'clicked':
        return this.#handler.clicked(message.id);
      case 'ping':
        return this.send({ kind: 'pong' });
      case undefined:
        return this.#socket.close(POLICY_VIOLATION, 'not a message');
    }
  }

  #call({ id, channel, payload }: FromPage & { kind: 'call' }): void {
    if (this.#calls >= CALLS_MAX) return this.#socket.close(POLICY_VIOLATION, 'too many calls');
    this.#calls += 1;
    const answer = async (): Promise<void> => {
      const result = await this.#handler.call(channel, payload, this);
      this.#calls -= 1;
      this.send({ kind: 'answer', id, answer: result });
    };
    void answer();
  }

  #result({ id, value }: FromPage & { kind: 'result' }): void {
    const pending = this.#pending.get(id);
    if (pending?.what !== 'file') return this.#settle(id, value);
    const { name, size } = (value ?? {}) as { name?: unknown; size?: unknown };
    if (typeof name !== 'string' || typeof size !== 'number') return this.#settle(id, undefined);
    const file = { name: name.slice(0, UI_NAME_MAX_CHARS), size };
    // Its content is not even sent.
    if (size > IMPORT_MAX_BYTES) return this.#settle(id, { ...file, content: Buffer.alloc(0) });
    pending.file = file;
  }

  #takeContent(content: Buffer): void {
    for (const [id, { file }] of this.#pending)
      if (file !== undefined) return this.#settle(id, { ...file, content });
  }
}

/** A message in JSON, after binary messages with its bytes. */
interface EncodedMessage {
  readonly parts: readonly Uint8Array[];
  readonly text: string;
}

export function encodeMessage(message: ToPage): EncodedMessage {
  const parts: Uint8Array[] = [];
  const text = JSON.stringify(message, function (this: Record<string, unknown>, key, value: unknown) {
    // What a Buffer's toJSON makes of it has ten times the size.
    const own = this[key];
    return own instanceof Uint8Array ? { [BYTES_FIELD]: parts.push(own) - 1 } : value;
  });
  return { parts, text };
}

/** @returns `undefined` for anything that no page of ours sends */
function readMessage(text: string): FromPage | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof message !== 'object' || message === null || !('kind' in message)) return undefined;
  const { kind, id, channel, state } = message as Readonly<Record<string, unknown>>;
  const hasId = Number.isSafeInteger(id);
  switch (kind) {
    case 'call':
      return hasId && typeof channel === 'string' ? (message as FromPage) : undefined;
    case 'result':
    case 'clicked':
      return hasId ? (message as FromPage) : undefined;
    case 'state':
      return readState(state);
    case 'ping':
      return { kind };
    default:
      return undefined;
  }
}

function readState(state: unknown): FromPage | undefined {
  if (typeof state !== 'object' || state === null) return undefined;
  const { isVisible, isInFront, canNotify, languages } = state as Readonly<Record<string, unknown>>;
  if (!Array.isArray(languages)) return undefined;
  const tags = languages
    .filter((tag): tag is string => typeof tag === 'string' && tag.length <= UI_LANGUAGE_MAX_CHARS)
    .slice(0, UI_LANGUAGES_MAX);
  return {
    kind: 'state',
    state: {
      isVisible: isVisible === true,
      isInFront: isInFront === true,
      canNotify: canNotify === true,
      languages: tags,
    },
  };
}

/**
 * Calls in both directions over one connection: between a window in a browser and its program, and between programs of one
 * user. Each message is JSON, after binary messages with its bytes.
 */

/** Both sides of a connection between programs have the same. Increase it when one side no longer understands the other. */
export const PROTOCOL = 1;

/** The result of every call: an error is data, because a transport may keep only the text of one that is thrown. */
export type Answer<T> = { ok: true; value: T } | { ok: false; error: CallError };

export interface CallError {
  /** stable, such as `name-taken` */
  code: string;
  /** the field of the form that it belongs to */
  field?: string;
  /** for people */
  text: string;
  /** of an edited request: what is wrong with each part of it */
  problems?: readonly EditProblemView[];
}

/** What is wrong with one part of an edited request. */
export interface EditProblemView {
  /** `method`, `target`, `fields`, `fields.0.name`, `fields.0.value` and so on, or `body` */
  readonly part: string;
  /** a sentence with the part, its limit and what it accepts */
  readonly text: string;
}

/** The first message of the side that was connected to. */
export interface Hello {
  readonly kind: 'hello';
  readonly protocol: number;
  /** of the program */
  readonly version: string;
}

type PeerMessage =
  | Hello
  | { readonly kind: 'call'; readonly id: number; readonly method: string; readonly payload?: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer<unknown> }
  /** has no answer */
  | { readonly kind: 'push'; readonly name: string; readonly value?: unknown };

/** A message in JSON, and the binary messages before it. */
export interface EncodedMessage {
  readonly parts: readonly Uint8Array[];
  readonly text: string;
}

/** A connection, as a peer uses it. */
export interface Line {
  /** @param sent called once it has left the program */
  readonly send: (message: EncodedMessage, sent?: () => void) => void;
  /** Ends the connection: the other side has sent what none of ours sends. */
  readonly refuse: (why: string) => void;
  /** maximum size of the bytes of one message */
  readonly maxBytes: number;
  /** maximum number of calls of the other side that wait for their answers */
  readonly maxCalls: number;
}

export interface PeerHandler {
  /** Answers a call of the other side. Never rejects. */
  readonly answer: (method: string, payload: unknown) => Promise<Answer<unknown>>;
  readonly pushed: (name: string, value: unknown) => void;
  readonly greeted?: (hello: Hello) => void;
}

/** The answer of a side that is gone, or took too long. */
const NO_ANSWER: CallError = { code: 'no-answer', text: 'There was no answer.' };
/** Every side answers it immediately, which shows that the connection is alive. */
const PING = 'ping';

export class Peer {
  readonly #line: Line;
  readonly #handler: PeerHandler;
  readonly #calls = new Map<number, (answer: Answer<unknown>) => void>();
  #parts: Uint8Array[] = [];
  #running = 0;
  #lastCall = 0;
  #isOver = false;

  constructor(line: Line, handler: PeerHandler) {
    this.#line = line;
    this.#handler = handler;
  }

  /** @param ended gives up on the answer, which is an error then */
  call(method: string, payload?: unknown, ended?: AbortSignal): Promise<Answer<unknown>> {
    const id = (this.#lastCall += 1);
    return new Promise((resolve) => {
      const giveUp = (): void => settle({ ok: false, error: NO_ANSWER });
      const settle = (answer: Answer<unknown>): void => {
        this.#calls.delete(id);
        ended?.removeEventListener('abort', giveUp);
        resolve(answer);
      };
      if (this.#isOver || ended?.aborted === true) return giveUp();
      this.#calls.set(id, settle);
      ended?.addEventListener('abort', giveUp, { once: true });
      this.#send({ kind: 'call', id, method, payload });
    });
  }

  ping(): Promise<Answer<unknown>> {
    return this.call(PING);
  }

  push(name: string, value?: unknown): void {
    this.send(encodePush(name, value));
  }

  greet(version: string): void {
    this.#send({ kind: 'hello', protocol: PROTOCOL, version });
  }

  /** Sends what was encoded for several peers. @param sent called once it has left the program */
  send(message: EncodedMessage, sent?: () => void): void {
    if (!this.#isOver) this.#line.send(message, sent);
  }

  /** A binary message has arrived. */
  takeBytes(part: Uint8Array): void {
    if (this.#isOver) return;
    this.#parts.push(part);
    const size = this.#parts.reduce((sum, { length }) => sum + length, 0);
    // Each of them also needs memory if it is empty.
    if (size > this.#line.maxBytes || this.#parts.length > PARTS_MAX) this.#refuse('too many bytes');
  }

  /** A message has arrived. */
  takeText(text: string): void {
    if (this.#isOver) return;
    const message = readMessage(text, this.#parts);
    this.#parts = [];
    switch (message?.kind) {
      case 'hello':
        return this.#handler.greeted?.(message);
      case 'call':
        return this.#take(message);
      case 'answer':
        return this.#calls.get(message.id)?.(message.answer);
      case 'push':
        return this.#handler.pushed(message.name, message.value);
      case undefined:
        return this.#refuse('not a message');
    }
  }

  /** The connection has ended. @param error the answer to calls under way: nobody knows whether they were done */
  close(error = NO_ANSWER): void {
    this.#isOver = true;
    this.#parts = [];
    for (const settle of this.#calls.values()) settle({ ok: false, error });
  }

  #take({ id, method, payload }: PeerMessage & { kind: 'call' }): void {
    if (method === PING) return this.#send({ kind: 'answer', id, answer: { ok: true, value: undefined } });
    if (this.#running >= this.#line.maxCalls) return this.#refuse('too many calls');
    this.#running += 1;
    const answer = async (): Promise<void> => {
      const given = await this.#handler.answer(method, payload);
      this.#running -= 1;
      this.#send({ kind: 'answer', id, answer: given });
    };
    void answer();
  }

  #send(message: PeerMessage): void {
    this.send(encodeMessage(message));
  }

  #refuse(why: string): void {
    if (this.#isOver) return;
    this.close();
    this.#line.refuse(why);
  }
}

/** Maximum number of binary messages before one in JSON: a WebSocket's messages in one answer are the most. */
const PARTS_MAX = 1024;

/** The name of the only field of an object that stands for bytes: the index of one of the binary messages. */
const BYTES_FIELD = '$bytes';

/** A push that is the same for several peers. */
export function encodePush(name: string, value: unknown): EncodedMessage {
  return encodeMessage({ kind: 'push', name, value });
}

/** In base64, a body of 10 MB would block a page for a second. */
function encodeMessage(message: PeerMessage): EncodedMessage {
  const parts: Uint8Array[] = [];
  const text = JSON.stringify(message, function (this: Record<string, unknown>, key, value: unknown) {
    // What a Buffer's toJSON makes of it has ten times the size.
    const own = this[key];
    return own instanceof Uint8Array ? { [BYTES_FIELD]: parts.push(own) - 1 } : value;
  });
  return { parts, text };
}

/** @returns `undefined` for anything that no peer sends */
function readMessage(text: string, parts: readonly Uint8Array[]): PeerMessage | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text, (_key, value: unknown) =>
      isObject(value) && BYTES_FIELD in value ? parts[Number(value[BYTES_FIELD])] : value,
    );
  } catch {
    return undefined;
  }
  return isObject(message) && isMessage(message) ? (message as unknown as PeerMessage) : undefined;
}

function isMessage({ kind, id, method, answer, name, ...more }: Readonly<Record<string, unknown>>): boolean {
  switch (kind) {
    case 'hello':
      return Number.isSafeInteger(more['protocol']) && typeof more['version'] === 'string';
    case 'call':
      return Number.isSafeInteger(id) && typeof method === 'string';
    case 'answer':
      return Number.isSafeInteger(id) && isAnswer(answer);
    case 'push':
      return typeof name === 'string';
    default:
      return false;
  }
}

function isAnswer(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { ok, error } = value;
  return (
    ok === true ||
    (ok === false &&
      isObject(error) &&
      typeof error['code'] === 'string' &&
      typeof error['text'] === 'string')
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

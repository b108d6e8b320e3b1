/**
 * The client's side of the handshake of a data WebSocket or a trunk (RFC 6455 section 4.1, docs/protocol.md sections 6 and 10). It is our own
 * because a visitor waits for every one of them and a general implementation takes 1.5 to 1.9 times the CPU (docs/decisions/0002-own-websocket-on-the-data-path.md).
 */
import { hash, randomFillSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { TurnedReads } from '../../../shared/fairness/turned-reads.ts';
import { fieldValue, listMembers } from '../../../shared/http1/fields.ts';
import { HeadReader } from '../../../shared/http1/head-reader.ts';
import { parseResponseHead, type ResponseHead } from '../../../shared/http1/head.ts';
import type { ReadSocket } from '../../../shared/socket-reads.ts';
import { WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import { HANDSHAKE_GUID } from '../../../shared/websocket/handshake.ts';
import { UPGRADE_HEAD_MAX_BYTES } from '../limits.ts';
import type { Attempt } from '../network/dial.ts';
import { RelayRefusal } from '../relay/errors.ts';
import { say, SaidError } from '../said/said.ts';

/** Told once what became of a handshake. */
export interface UpgradeHandler {
  /** Attaches to the stream before it returns. */
  opened(stream: WebSocketByteStream): void;
  /** @param error a {@link RelayRefusal} where the relay answered with another status */
  refused(error: Error): void;
}

/** The request up to the key, which is different for each; only the query is, too. */
export function upgradeFields(host: string, key?: string): string {
  return (
    ` HTTP/1.1\r\nHost: ${host}\r\n` +
    (key === undefined ? '' : `Authorization: Bearer ${key}\r\n`) +
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: '
  );
}

/** Sends the upgrade request and waits for the 101. How long that may take is for the caller to limit. */
export class Upgrade implements Attempt {
  readonly #socket: Socket;
  readonly #handler: UpgradeHandler;
  readonly #nonce = nextNonce();
  readonly #reader = new HeadReader(UPGRADE_HEAD_MAX_BYTES);
  readonly #onHeadBytes = (chunk: Buffer): void => this.#push(chunk);
  readonly #onGone = (): void => this.#fail(new SaidError(say('network.closed')));
  #isOver = false;

  /**
   * @param socket connected, with nothing else listening to it but for errors
   * @param target path and query of what is asked for
   * @param fields {@link upgradeFields}
   */
  constructor(socket: Socket, target: string, fields: string, handler: UpgradeHandler) {
    this.#socket = socket;
    this.#handler = handler;
    socket.on('data', this.#onHeadBytes);
    socket.on('end', this.#onGone);
    socket.on('close', this.#onGone);
    socket.write(`GET ${target}${fields}${this.#nonce}\r\n\r\n`, 'latin1');
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroy();
  }

  #push(chunk: Buffer): void {
    if (this.#isOver) return;
    const head = this.#reader.push(chunk);
    if (head === undefined) return;
    const error =
      typeof head === 'string' ? notHttp() : checkUpgrade(parseResponseHead(head.head), this.#nonce);
    if (error !== undefined) return this.#fail(error);
    if (typeof head === 'string') return;
    this.#isOver = true;
    this.#socket.off('data', this.#onHeadBytes).off('end', this.#onGone).off('close', this.#onGone);
    this.#handler.opened(new WebSocketByteStream(this.#socket, 'client', head.rest, { read: readInTurns }));
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.cancel();
    this.#handler.refused(error);
  }
}

/** What is large takes turns with what other visitors send and get. */
const readInTurns: ReadSocket = (socket, onChunk) => new TurnedReads(socket, () => socket, { onChunk });

/** Why the answer is not the agreement RFC 6455 section 4.1 asks for; `undefined` when it is. */
function checkUpgrade(head: ResponseHead | undefined, nonce: string): Error | undefined {
  if (head === undefined) return notHttp();
  const { status, fields } = head;
  if (status !== 101) return new RelayRefusal(status, say('relay.answeredStatus', { status }));
  const accept = hash('sha1', nonce + HANDSHAKE_GUID, 'base64');
  const agreed =
    fieldValue(fields, 'upgrade')?.toLowerCase() === 'websocket' &&
    listMembers(fields, 'connection').includes('upgrade') &&
    fieldValue(fields, 'sec-websocket-accept') === accept &&
    // Nothing was offered, so nothing may be chosen.
    fieldValue(fields, 'sec-websocket-extensions') === undefined &&
    fieldValue(fields, 'sec-websocket-protocol') === undefined;
  return agreed ? undefined : new SaidError(say('network.noWebSocket'));
}

function notHttp(): Error {
  return new SaidError(say('network.noHttp'));
}

const NONCE_BYTES = 16;
/** Bytes drawn from the system's random source at a time: a draw costs the same for one nonce and for many. */
const pool = Buffer.alloc(NONCE_BYTES * 256);
let used = pool.length;

/** A fresh Sec-WebSocket-Key. */
function nextNonce(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += NONCE_BYTES;
  return pool.toString('base64', used - NONCE_BYTES, used);
}

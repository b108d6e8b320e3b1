import { hash, randomFillSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { fieldValue, listMembers } from '../../../shared/http1/fields.ts';
import { HeadReader, parseResponseHead, type ResponseHead } from '../../../shared/http1/head.ts';
import { type ReadSocket, ScheduledReads } from '../../../shared/scheduler/fair-reads.ts';
import { HANDSHAKE_GUID, WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import { MessageError, toMessage } from '../messages.ts';
import { type Attempt, describeNetworkError, type DialHandler, DATA_KEEP_ALIVE_MS } from '../network/dial.ts';
import type { Network } from '../network/network.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { RelayAddress } from '../relay/relay-address.ts';
import { PENDING_TIMEOUT_MS } from '../../../shared/control.ts';

/**
 * Maximum time to open a data socket: the relay has dropped the visitor's connection by then (protocol.md
 * section 5.2).
 */
export const DATA_HANDSHAKE_TIMEOUT_MS = PENDING_TIMEOUT_MS;
/**
 * Maximum size of the headers in the relay's response to an upgrade: its 101 has four fields, and proxies on the
 * way add some.
 */
const UPGRADE_HEAD_MAX_BYTES = 16 * 1024;

/** Called once with the outcome of a socket, never before the request for it has returned. */
export interface SocketHandler {
  /** Attaches to the stream before it returns. */
  opened(stream: WebSocketByteStream): void;
  /** As {@link DataHandler.failed}. */
  failed(error: RelayRefusal | RelayUnreachable): void;
}

/** Opens data sockets and trunks to one relay, each within {@link DATA_HANDSHAKE_TIMEOUT_MS}. */
export class DataDialer {
  readonly #relay: RelayAddress;
  readonly #network: Network;
  readonly #deadlines: Deadlines;
  readonly #fields: string;
  readonly #carriesEnd: boolean;
  #knownAddress: string | undefined;

  /** @param options `carriesEnd`: whether data sockets can be half-closed, which only raw tunnels need */
  constructor(
    relay: RelayAddress,
    network: Network,
    deadlines: Deadlines,
    { carriesEnd = false }: { readonly carriesEnd?: boolean } = {},
  ) {
    this.#relay = relay;
    this.#network = network;
    this.#deadlines = deadlines;
    this.#carriesEnd = carriesEnd;
    this.#fields = upgradeFields(relay.host);
  }

  /** The address of {@link prefer}. */
  get knownAddress(): string | undefined {
    return this.#knownAddress;
  }

  /** An IP address at which the relay answered. It is tried first, which saves a name look-up per visitor. */
  prefer(address: string | undefined): void {
    this.#knownAddress = address;
  }

  /**
   * Opens the data socket of a pending connection.
   *
   * @param connectionId the `id` of a `connection` message
   */
  open(connectionId: string, handler: DataHandler): Attempt {
    const target = `/ws/data?id=${encodeURIComponent(connectionId)}`;
    if (!this.#carriesEnd) return this.#open(target, this.#fields, handler);
    return this.#open(`${target}&ends=1`, this.#fields, {
      opened(stream) {
        stream.carryEnd();
        handler.opened(stream);
      },
      failed: (error) => handler.failed(error),
    });
  }

  /**
   * Opens a trunk for the visitors of a tunnel (protocol.md section 10).
   *
   * @param key API key of the tunnel's owner
   */
  openTrunk(tunnelId: string, key: string, handler: SocketHandler): Attempt {
    const fields = upgradeFields(this.#relay.host, key);
    return this.#open(`/ws/trunk?tunnel_id=${encodeURIComponent(tunnelId)}`, fields, handler);
  }

  #open(target: string, fields: string, handler: SocketHandler): Attempt {
    const dial: Dial = (address, dialHandler) =>
      this.#network.connect(this.#relay, { address, keepAliveMs: DATA_KEEP_ALIVE_MS }, dialHandler);
    return new DataAttempt({
      relay: this.#relay,
      dial,
      knownAddress: this.#knownAddress,
      target,
      fields,
      deadlines: this.#deadlines,
      handler,
    });
  }
}

/** @param address IP address of the relay; if missing, its name is looked up */
type Dial = (address: string | undefined, handler: DialHandler) => Attempt;

interface DataAttemptOptions {
  readonly relay: RelayAddress;
  readonly dial: Dial;
  /** an address at which the relay answered */
  readonly knownAddress: string | undefined;
  /** path and query of the request */
  readonly target: string;
  /** {@link upgradeFields} */
  readonly fields: string;
  readonly deadlines: Deadlines;
  readonly handler: SocketHandler;
}

class DataAttempt implements Attempt, DialHandler, Expiring {
  readonly #options: DataAttemptOptions;
  /** Whether the name is tried when this address fails. */
  #hasName: boolean;
  #step: Attempt;

  constructor(options: DataAttemptOptions) {
    this.#options = options;
    const { relay, dial, knownAddress, deadlines } = options;
    this.#hasName = knownAddress !== undefined && knownAddress !== relay.hostname;
    this.#step = dial(knownAddress, this);
    deadlines.add(this, DATA_HANDSHAKE_TIMEOUT_MS);
  }

  connected(socket: Socket): void {
    const { target, fields } = this.#options;
    this.#step = new Upgrade(socket, target, fields, this);
  }

  failed(error: Error): void {
    if (!this.#hasName) return this.refused(error);
    this.#hasName = false;
    this.#step = this.#options.dial(undefined, this);
  }

  /** The handshake has succeeded. */
  opened(stream: WebSocketByteStream): void {
    this.#options.deadlines.delete(this);
    this.#options.handler.opened(stream);
  }

  /** @param error a {@link RelayRefusal} if the relay responded to the handshake with another status */
  refused(error: Error): void {
    this.#options.deadlines.delete(this);
    this.#options.handler.failed(error instanceof RelayRefusal ? error : this.#unreachable(error));
  }

  expire(): void {
    this.#step.cancel();
    this.refused(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
  }

  cancel(): void {
    this.#options.deadlines.delete(this);
    this.#step.cancel();
  }

  #unreachable(cause: Error): RelayUnreachable {
    const { origin } = this.#options.relay;
    return new RelayUnreachable(toMessage('relay.noData', { origin, why: describeNetworkError(cause) }), {
      cause,
    });
  }
}

/*
 * The client's side of the handshake of a data socket or a trunk (RFC 6455 section 4.1, protocol.md sections 6
 * and 10). Culvert implements it itself because every visitor waits for one, and a general implementation needs 1.5 to
 * 1.9 times the CPU (docs/decisions/0002-own-websocket-on-the-data-path.md).
 */

/** The request up to the key. Only the key and the query differ between requests. */
function upgradeFields(host: string, key?: string): string {
  return (
    ` HTTP/1.1\r\nHost: ${host}\r\n` +
    (key === undefined ? '' : `Authorization: Bearer ${key}\r\n`) +
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: '
  );
}

/** Sends the upgrade request and waits for the 101. The caller limits the time. */
class Upgrade implements Attempt {
  readonly #socket: Socket;
  readonly #attempt: DataAttempt;
  readonly #nonce = nextNonce();
  readonly #reader = new HeadReader(UPGRADE_HEAD_MAX_BYTES);
  readonly #onHeadBytes = (chunk: Buffer): void => this.#push(chunk);
  readonly #onGone = (): void => this.#fail(new MessageError(toMessage('network.closed')));
  #isOver = false;

  /**
   * @param socket connected, with only an `error` listener
   * @param target path and query of the request
   * @param fields {@link upgradeFields}
   */
  constructor(socket: Socket, target: string, fields: string, attempt: DataAttempt) {
    this.#socket = socket;
    this.#attempt = attempt;
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
    this.#attempt.opened(new WebSocketByteStream(this.#socket, 'client', head.rest, { read: readInTurns }));
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.cancel();
    this.#attempt.refused(error);
  }
}

/** Large reads share the event loop fairly with other visitors. */
const readInTurns: ReadSocket = (socket, onChunk) => new ScheduledReads(socket, () => socket, { onChunk });

/** Why the response does not satisfy RFC 6455 section 4.1; `undefined` if it does. */
function checkUpgrade(head: ResponseHead | undefined, nonce: string): Error | undefined {
  if (head === undefined) return notHttp();
  const { status, fields } = head;
  if (status !== 101) return new RelayRefusal(status, toMessage('relay.answeredStatus', { status }));
  const accept = hash('sha1', nonce + HANDSHAKE_GUID, 'base64');
  const agreed =
    fieldValue(fields, 'upgrade')?.toLowerCase() === 'websocket' &&
    listMembers(fields, 'connection').includes('upgrade') &&
    fieldValue(fields, 'sec-websocket-accept') === accept &&
    // No extension or protocol was offered, so none may be chosen.
    fieldValue(fields, 'sec-websocket-extensions') === undefined &&
    fieldValue(fields, 'sec-websocket-protocol') === undefined;
  return agreed ? undefined : new MessageError(toMessage('network.noWebSocket'));
}

function notHttp(): Error {
  return new MessageError(toMessage('network.noHttp'));
}

const NONCE_BYTES = 16;
/** Bytes drawn from the system's random source together: a draw costs the same for one nonce and for many. */
const pool = Buffer.alloc(NONCE_BYTES * 256);
let used = pool.length;

/** A new Sec-WebSocket-Key. */
function nextNonce(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += NONCE_BYTES;
  return pool.toString('base64', used - NONCE_BYTES, used);
}

/* How visitors are served, independent of who opened the connection. */

/** An open data socket. */
export type DataSocket = Pick<
  WebSocketByteStream,
  'attach' | 'write' | 'pause' | 'resume' | 'end' | 'close' | 'destroy' | 'lookForEnd'
> & {
  /** as in a `connection` message, of a raw connection on a trunk */
  readonly peers?: string;
};

/** Called once with the outcome of a data socket, never before the request for it has returned. */
export interface DataHandler {
  /** Attaches to the stream before it returns. */
  opened(stream: DataSocket): void;
  /**
   * @param error {@link RelayRefusal} when the relay answers with an HTTP error: 404 when the visitor is gone, 429 when
   *   the relay has been offered enough sockets
   */
  failed(error: RelayRefusal | RelayUnreachable): void;
}

/** Opens the data sockets of announced visitors. */
export interface DataSource {
  /** @param connectionId the `id` of a `connection` message */
  open(connectionId: string, handler: DataHandler): Attempt;
}

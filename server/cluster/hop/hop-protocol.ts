/**
 * How relays of a cluster forward visitors, data sockets and trunks to each other (docs/decisions/0009-cluster.md): a TLS
 * 1.3 connection with a key that only they know, and a trunk on it. Each stream of the trunk begins with a line that states
 * its purpose, and then carries the bytes of a connection.
 */
import { createHmac } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { CloseCode, PEERS_MAX_LENGTH } from '../../../shared/control.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import { Trunk, type TrunkOwner } from '../../../shared/trunk/trunk.ts';
import {
  type ByteStreamHandler,
  ConnectionLost,
  isCleanClose,
  WebSocketByteStream,
} from '../../../shared/websocket/byte-stream.ts';
import { TRUNK_FLUSH_MS } from '../../clients/client-trunks.ts';
import type { ForwardedUpgrade, HopRequest } from '../../clients/ownership.ts';
import { TrunkLife } from '../../clients/trunk-life.ts';
import { KEEP_ALIVE_MS } from '../../listeners.ts';

/** How long a trunk to another relay may be unused before it is closed. */
export const HOP_IDLE_MS = 30_000;
/** ms between two checks of a trunk to another relay. */
const WATCH_MS = 1000;
/**
 * Settings for both ends (RFC 8446 section 2.2, `psk_dhe_ke`): no certificate, no earlier version, no early data. The
 * key exchange makes each handshake unique, so that none can be replayed, and recorded traffic stays secret if the
 * cluster's secret becomes known. The cipher suite uses SHA-256, the hash that applies to keys without a hash of their
 * own.
 */
export const HOP_TLS = {
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256',
  ecdhCurve: 'X25519',
} as const;

const INCARNATION = /^[\w-]{1,64}$/;

/**
 * The pair of relays that a connection's key is bound to: no other pair can use it, nor the same two in the other
 * direction.
 */
interface HopEnds {
  /** incarnation of the relay that connects */
  readonly from: string;
  /** incarnation of the relay that listens */
  readonly to: string;
}

/**
 * @param secret known only to the relays of the cluster
 * @returns the key, 32 bytes; `undefined` for a name that no relay has
 */
export function hopKey({ from, to }: HopEnds, secret: string): Buffer | undefined {
  if (!INCARNATION.test(from)) return undefined;
  return createHmac('sha256', secret).update(`culvert-hop/5 ${from} ${to}`).digest();
}

/** A trunk to another relay. */
interface HopTrunk {
  readonly trunk: Trunk;
  readonly life: TrunkLife;
}

/**
 * The trunk on an established connection, which ends when the other relay gives no sign of life. The relay that connected
 * begins the streams.
 *
 * @param socket whose other end has proven that it is a relay of the cluster
 */
export function hopTrunk(socket: TLSSocket, role: 'dialer' | 'listener', owner: TrunkOwner): HopTrunk {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const isDialer = role === 'dialer';
  // A WebSocket's client masks what it sends. Responses of forwarded data sockets come from the dialer, those of
  // forwarded visitors from the listener.
  const stream = new WebSocketByteStream(socket, isDialer ? 'server' : 'client', Buffer.alloc(0));
  const closed = (code: number): void => {
    clearInterval(timer);
    owner.closed(code);
  };
  const trunk = new Trunk(stream, {
    begins: isDialer ? 'this' : 'peer',
    owner: { ...owner, closed },
    flushMs: TRUNK_FLUSH_MS,
  });
  const life = new TrunkLife(trunk);
  // Not the clock: while this process is stopped, the other relay has nothing to answer.
  let now = 0;
  let usedAt = 0;
  let words = 0;
  const check = (): void => {
    now += WATCH_MS;
    if (trunk.size > 0 || trunk.words !== words) usedAt = now;
    words = trunk.words;
    if (isDialer && now - usedAt >= HOP_IDLE_MS) trunk.retire();
    life.tick(now);
  };
  const timer = setInterval(check, WATCH_MS).unref();
  return { trunk, life };
}

/** A visitor's stream to the client of the tunnel with that id. */
interface VisitRequest {
  readonly kind: 'visit';
  readonly id: string;
  /** as in `Dialer.dial`, else empty */
  readonly peers: string;
}

/** The line that a stream begins with. */
export function writeRequest(request: ForwardedUpgrade | VisitRequest): Buffer {
  const { kind, id } = request;
  const fields =
    kind === 'visit'
      ? [kind, id, request.peers]
      : [kind, id, request.key, request.authorization ?? '', request.carriesEnd];
  return Buffer.from(`${JSON.stringify(fields)}\n`);
}

/**
 * @param line without its end
 * @returns `undefined` for anything that a relay of this version does not send
 */
export function readRequest(line: Buffer, via: string): HopRequest | VisitRequest | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(line.toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields)) return undefined;
  const [kind, id, key, authorization, carriesEnd] = fields as unknown[];
  if (typeof id !== 'string') return undefined;
  if (kind === 'visit')
    return typeof key === 'string' && key.length <= PEERS_MAX_LENGTH ? { kind, id, peers: key } : undefined;
  if (kind !== 'data' && kind !== 'trunk') return undefined;
  if (typeof key !== 'string' || typeof authorization !== 'string' || typeof carriesEnd !== 'boolean')
    return undefined;
  return { kind, id, key, authorization: authorization === '' ? undefined : authorization, carriesEnd, via };
}

/** The connection of a data socket or trunk that arrived on another relay, as the relay uses it that has the tunnel. */
export class HopSocket extends Duplex implements ByteStreamHandler {
  readonly #stream: TrunkStream;
  readonly #lostCode: number | undefined;
  #onDrain: (() => void) | undefined;

  /**
   * @param stream whose request was read
   * @param lostCode of its byte stream's end, if the other relay is lost and not the client
   */
  constructor(stream: TrunkStream, lostCode?: number) {
    super({ allowHalfOpen: false, decodeStrings: true });
    this.#stream = stream;
    this.#lostCode = lostCode;
    // Errors are reported with `close`.
    this.on('error', () => {});
  }

  onStreamData(piece: Buffer): void {
    if (!this.push(piece)) this.#stream.pause();
  }

  onStreamDrain(): void {
    const onDrain = this.#onDrain;
    this.#onDrain = undefined;
    onDrain?.();
  }

  onStreamClose(code: number): void {
    const lostCode = code === CloseCode.abnormal ? this.#lostCode : undefined;
    if (isCleanClose(code)) this.push(null);
    else this.destroy(lostCode === undefined ? undefined : new ConnectionLost(lostCode));
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (this.#stream.write(chunk)) callback();
    else this.#onDrain = callback;
  }

  override _writev(queued: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    let hasRoom = true;
    for (const { chunk } of queued) hasRoom = this.#stream.write(chunk);
    if (hasRoom) callback();
    else this.#onDrain = callback;
  }

  /** If everything was written, it ends like a closed connection; otherwise it breaks like one, after what was accepted. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const isWhole = error === null && this.writableLength === 0;
    this.#stream.close(isWhole ? CloseCode.normal : CloseCode.goingAway);
    callback(error);
  }
}

/**
 * How relays of a cluster forward data sockets to each other (docs/decisions/0009-cluster.md): a TLS 1.3 connection with
 * a key that only they know, and a trunk on it. Each stream of the trunk begins with a line that identifies the owner
 * of the data socket, and then carries the bytes of its connection.
 */
import { createHmac } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { CloseCode } from '../../../shared/control.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import { Trunk, type TrunkOwner } from '../../../shared/trunk/trunk.ts';
import {
  type ByteStreamHandler,
  isCleanClose,
  WebSocketByteStream,
} from '../../../shared/websocket/byte-stream.ts';
import { TRUNK_FLUSH_MS } from '../../clients/client-trunks.ts';
import type { HopRequest, UpgradeToPass } from '../../clients/ownership.ts';
import { KEEP_ALIVE_MS } from '../../listeners.ts';

/**
 * @limit Maximum number of bytes of a stream in transit between two relays, in each direction: 250 MB/s at 1 ms,
 * because relays are close to each other.
 */
const HOP_WINDOW_BYTES = 256 * 1024;

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
  return createHmac('sha256', secret).update(`culvert-hop/4 ${from} ${to}`).digest();
}

/**
 * The trunk on an established connection. The relay that connected begins the streams.
 *
 * @param socket whose other end has proven that it is a relay of the cluster
 */
export function hopTrunk(socket: TLSSocket, role: 'dialer' | 'listener', owner: TrunkOwner): Trunk {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  // A WebSocket's client masks what it sends, and most bytes are responses, which the dialer sends.
  const stream = new WebSocketByteStream(socket, role === 'dialer' ? 'server' : 'client', Buffer.alloc(0));
  return new Trunk(stream, {
    begins: role === 'dialer' ? 'this' : 'peer',
    owner,
    flushMs: TRUNK_FLUSH_MS,
    windowBytes: HOP_WINDOW_BYTES,
  });
}

/** The line that a stream begins with. */
export function writeRequest({ id, key, authorization }: UpgradeToPass): Buffer {
  return Buffer.from(`${JSON.stringify([id, key, authorization ?? ''])}\n`);
}

/**
 * @param line without its end
 * @returns `undefined` for anything that a relay of this version does not send
 */
export function readRequest(line: Buffer, via: string): HopRequest | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(line.toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields)) return undefined;
  const [id, key, authorization] = fields as unknown[];
  if (typeof id !== 'string' || typeof key !== 'string' || typeof authorization !== 'string')
    return undefined;
  return { id, key, authorization: authorization === '' ? undefined : authorization, via };
}

/** The connection of a data socket that arrived on another relay, as the relay uses it where the visitor waits. */
export class HopSocket extends Duplex implements ByteStreamHandler {
  readonly #stream: TrunkStream;
  #onDrain: (() => void) | undefined;

  /** @param stream whose request was read */
  constructor(stream: TrunkStream) {
    super({ allowHalfOpen: false, decodeStrings: true });
    this.#stream = stream;
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
    if (isCleanClose(code)) this.push(null);
    else this.destroy();
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

  /** If everything was written, it ends like a closed connection; otherwise it breaks like one. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (error !== null || this.writableLength > 0) this.#stream.destroy();
    else this.#stream.close(CloseCode.normal);
    callback(error);
  }
}

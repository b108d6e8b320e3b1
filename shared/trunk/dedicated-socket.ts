/**
 * The data socket on which a stream goes on that was moved off its trunk (docs/protocol.md section 10.3). Nothing is read
 * from it before all has come that was sent on the trunk.
 */
import type { ByteStreamHandler, WebSocketByteStream } from '../websocket/byte-stream.ts';
import { BufferedBytes } from './receiver.ts';

/** As far as it is used. */
export type MoveTarget = Pick<
  WebSocketByteStream,
  | 'attach'
  | 'write'
  | 'pause'
  | 'resume'
  | 'isPaused'
  | 'close'
  | 'destroy'
  | 'probe'
  | 'isSilent'
  | 'lookForEnd'
>;

export interface OwnSocketOwner {
  /** There is room to write again. */
  drained(): void;
  /** Bytes of the peer, after {@link DedicatedSocket.read}. */
  came(piece: Buffer): void;
  /** The peer has closed it, or it broke, which is told at any time. */
  closed(code: number): void;
}

export class DedicatedSocket implements ByteStreamHandler {
  readonly socket: MoveTarget;
  readonly #owner: OwnSocketOwner;
  /** Whether a writer waits for room. */
  #isAwaited = false;
  /** what came with the handshake; `undefined` from {@link read} on */
  #early: BufferedBytes | undefined = new BufferedBytes();

  /** @param socket not attached to */
  constructor(socket: MoveTarget, owner: OwnSocketOwner) {
    this.socket = socket;
    this.#owner = owner;
    socket.attach(this);
    socket.pause();
  }

  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  write(chunk: Buffer): boolean {
    const hasRoom = this.socket.write(chunk);
    this.#isAwaited ||= !hasRoom;
    return hasRoom;
  }

  /** All has come that was sent on the trunk: what comes here is next. */
  read(): void {
    const early = this.#early;
    this.#early = undefined;
    for (let piece = early?.shift(); piece !== undefined; piece = early?.shift()) this.#owner.came(piece);
    this.socket.resume();
  }

  onStreamData(piece: Buffer): void {
    if (this.#early === undefined) this.#owner.came(piece);
    else this.#early.add(piece);
  }

  onStreamDrain(): void {
    this.#isAwaited = false;
    this.#owner.drained();
  }

  onStreamClose(code: number): void {
    this.#owner.closed(code);
  }
}

/**
 * The data socket of a stream that was moved off its trunk (protocol.md section 10.3). Nothing is read from it
 * before everything sent on the trunk has arrived.
 */
import type { ByteStreamHandler, WebSocketByteStream } from '../websocket/byte-stream.ts';
import { BufferedBytes } from './receiver.ts';

/** The used part of a data socket. */
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
  | 'carryEnd'
  | 'end'
>;

/**
 * `room`: a waiting writer may write again. `drained`: there is room that nobody waited for. A buffer: data of the peer has
 * arrived, after {@link DedicatedSocket.read}. `ended`: no more of it follows. A number: the peer has closed the socket
 * with this code, or it broke; at any time.
 */
export type SocketEvent = 'room' | 'drained' | 'ended' | Buffer | number;

export class DedicatedSocket implements ByteStreamHandler {
  readonly socket: MoveTarget;
  readonly #tell: (event: SocketEvent) => void;
  /** Whether a writer waits for room. */
  #isAwaited = false;
  /** Whether the socket will report room. */
  #isFull = false;
  /** data received with the handshake; `undefined` after {@link read} */
  #early: BufferedBytes | undefined = new BufferedBytes();
  #hasEnded = false;

  /** @param socket without a handler */
  constructor(socket: MoveTarget, tell: (event: SocketEvent) => void) {
    this.socket = socket;
    this.#tell = tell;
    socket.attach(this);
    socket.pause();
  }

  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  /** Whether the socket will report room, which not every writer waits for. */
  get isFull(): boolean {
    return this.#isFull;
  }

  write(chunk: Buffer): boolean {
    const hasRoom = this.socket.write(chunk);
    this.#isFull ||= !hasRoom;
    this.#isAwaited ||= !hasRoom;
    return hasRoom;
  }

  /**
   * Sends data that was queued for the trunk.
   *
   * @param isAwaited whether its writer waits for room
   */
  takeOver(queue: readonly Buffer[], isAwaited: boolean): void {
    for (const piece of queue) this.write(piece);
    this.#isAwaited &&= isAwaited;
  }

  /** Everything sent on the trunk has arrived: the data of this socket is next. */
  read(): void {
    const early = this.#early;
    this.#early = undefined;
    for (let piece = early?.shift(); piece !== undefined; piece = early?.shift()) this.#tell(piece);
    if (this.#hasEnded) this.#tell('ended');
    this.socket.resume();
  }

  onStreamData(piece: Buffer): void {
    if (this.#early === undefined) this.#tell(piece);
    else this.#early.add(piece);
  }

  onStreamDrain(): void {
    this.#isFull = false;
    const wasAwaited = this.#isAwaited;
    this.#isAwaited = false;
    this.#tell(wasAwaited ? 'room' : 'drained');
  }

  onStreamEnd(): void {
    this.#hasEnded = true;
    if (this.#early === undefined) this.#tell('ended');
  }

  onStreamClose(code: number): void {
    this.#tell(code);
  }
}

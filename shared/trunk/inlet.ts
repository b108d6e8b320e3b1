/** What comes on a stream, on its way to the handler: held while the stream is paused, and its end behind it. */
import { CloseCode } from '../control.ts';
import type { ByteStreamHandler } from '../websocket/byte-stream.ts';
import { withArrival } from './arrivals.ts';
import { HeldBytes } from './held-bytes.ts';
import { ReceiveWindow } from './receive-window.ts';

export interface InletOwner {
  /** Something has come: {@link Inlet.handOverArrived} is due when all has been read. */
  arrived(): void;
  /** The peer is to be let send more: {@link Inlet.grant}. */
  letSend(): void;
  /** All that was held has been handed over, and the stream is not paused. */
  emptied(): void;
}

export class Inlet {
  readonly #owner: InletOwner;
  readonly #window = new ReceiveWindow();
  #handler: ByteStreamHandler | undefined;
  #isPaused = false;
  /** Whether nobody hears what comes. */
  #isSilent = false;
  /** bytes that the handler has and has no room for: it has paused the stream */
  #unsettled = 0;
  /** what came in the bytes that are being read */
  #arrived: Buffer | undefined;
  /** what came while the stream was paused, or had no handler */
  readonly #held = new HeldBytes();
  #isHandingOver = false;
  /** code of the peer's end, behind what is held */
  #endCode: number | undefined;

  constructor(owner: InletOwner) {
    this.#owner = owner;
  }

  get handler(): ByteStreamHandler | undefined {
    return this.#handler;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether all that came has been handed over, and more would be. */
  get isOpen(): boolean {
    return !this.#isPaused && this.#held.size === 0 && this.#arrived === undefined;
  }

  attach(handler: ByteStreamHandler): void {
    this.#handler = handler;
    this.#handOverLater();
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#arrived !== undefined) this.#held.add(this.#arrived);
    this.#arrived = undefined;
  }

  resume(): void {
    this.#isPaused = false;
    this.#settle();
    this.#handOverLater();
  }

  /** @returns whether the peer was allowed to send it */
  received(piece: Buffer): boolean {
    if (!this.#window.received(piece.length)) return false;
    if (this.#isSilent) {
      this.#unsettled += piece.length;
      this.#settle();
    } else if (this.#isPaused || this.#held.size > 0 || this.#handler === undefined) {
      this.#held.add(piece);
    } else {
      if (this.#arrived === undefined) this.#owner.arrived();
      this.#arrived = withArrival(this.#arrived, piece);
    }
    return true;
  }

  /** @returns for how many more bytes the peer is let go on, as it is told at once */
  grant(): number {
    return this.#window.grant();
  }

  /** All that comes for now has come: it is handed over in one piece. */
  handOverArrived(): void {
    const piece = this.#arrived;
    this.#arrived = undefined;
    if (piece !== undefined) this.#handOver(piece);
  }

  /** Something comes another way than on the trunk, behind what has come there. */
  add(piece: Buffer): void {
    this.#held.add(piece);
    this.#handOverLater();
  }

  /**
   * The peer has ended the stream. The handler is told with the code after it has received the rest, or immediately if the peer has
   * left: then nobody waits for what becomes of the rest.
   */
  end(code: number): void {
    this.handOverArrived();
    this.#endCode = code;
    if (code === CloseCode.goingAway) this.#held.clear();
    if (this.#held.size === 0) this.#tellEnd();
  }

  /** Tells the handler of an end that waits behind bytes it has no room for, and drops those bytes. */
  tellEndNow(): void {
    if (this.#endCode === undefined) return;
    this.#held.clear();
    this.#tellEnd();
  }

  /** Nothing more is heard of the stream. What still comes is dropped, and makes room: the peer is to come to its end. */
  silence(): void {
    this.#isSilent = true;
    this.#handler = undefined;
    this.#unsettled += (this.#arrived?.length ?? 0) + this.#held.size;
    this.#arrived = undefined;
    this.#held.clear();
    this.#endCode = undefined;
    this.#settle();
  }

  #handOver(piece: Buffer): void {
    this.#unsettled += piece.length;
    this.#handler?.onStreamData(piece);
    // What a handler has no room for is not to make room for more.
    if (!this.#isPaused) this.#settle();
  }

  #settle(): void {
    if (this.#unsettled === 0) return;
    const isDue = this.#window.passedOn(this.#unsettled);
    this.#unsettled = 0;
    if (isDue) this.#owner.letSend();
  }

  /** Not within `resume`: whoever calls it may be about to attach another handler. */
  #handOverLater(): void {
    if (this.#isHandingOver || (this.#held.size === 0 && this.#endCode === undefined)) return;
    this.#isHandingOver = true;
    queueMicrotask(() => {
      this.#isHandingOver = false;
      while (!this.#isPaused && this.#handler !== undefined) {
        const piece = this.#held.shift();
        if (piece === undefined) break;
        this.#handOver(piece);
      }
      if (this.#held.size > 0) return;
      this.#tellEnd();
      if (!this.#isPaused) this.#owner.emptied();
    });
  }

  #tellEnd(): void {
    const code = this.#endCode;
    const handler = this.#handler;
    if (code === undefined || handler === undefined) return;
    this.#endCode = undefined;
    this.#handler = undefined;
    handler.onStreamClose(code);
  }
}

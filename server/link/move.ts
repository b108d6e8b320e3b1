/** A large stream of a trunk, while it waits for the data socket on which it goes on (docs/protocol.md section 10.3). */
import { PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { MoveTarget } from '../../shared/trunk/own-socket.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import type { Clock, Timer } from '../clock.ts';
import { moves, traffic } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { DataStream } from './data-stream.ts';

/** A stream of a trunk as it is, and as the byte stream of its visitor. */
export interface LargeStream {
  readonly trunk: TrunkStream;
  readonly data: DataStream;
}

export interface MoveOptions {
  /** id that opens the data socket */
  readonly id: string;
  readonly tunnel: LiveTunnel;
  readonly stream: LargeStream;
  readonly clock: Clock;
  /** told when the id opens nothing any more */
  readonly over: () => void;
}

export class Move {
  readonly tunnel: LiveTunnel;
  readonly #stream: LargeStream;
  readonly #timer: Timer;
  readonly #over: () => void;

  /** Asks the client to open the data socket. */
  constructor({ id, tunnel, stream, clock, over }: MoveOptions) {
    this.tunnel = tunnel;
    this.#stream = stream;
    this.#over = over;
    this.#timer = clock.setTimeout(() => this.#end(), PENDING_TIMEOUT_MS);
    stream.trunk.offerMove(id);
  }

  /** Whether there is still a visitor for the data socket. */
  get isOpen(): boolean {
    return this.#stream.data.isOpen;
  }

  /**
   * The data socket is there.
   *
   * @param keyId id of the key it was opened with; without one, that of the trunk
   * @param via incarnation of the relay through which it comes, if it does
   */
  open(socket: MoveTarget, keyId: string | undefined, via: string | undefined): void {
    const { trunk, data } = this.#stream;
    this.#timer.cancel();
    this.#over();
    traffic.dataSockets += 1;
    moves.moved += 1;
    if (keyId !== undefined) data.keyId = keyId;
    data.via = via;
    trunk.moveTo(socket);
  }

  /** No data socket has come. A client that goes on over it all the same has nowhere to go on. */
  #end(): void {
    this.#over();
    if (this.isOpen) moves.timeout += 1;
    this.#stream.trunk.moveFailed();
  }
}

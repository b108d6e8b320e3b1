/** A trunk of a tunnel's client, and whether the client is still at its other end (docs/protocol.md section 10). */
import { Trunk } from '../../shared/trunk/trunk.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import type { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import {
  FAR_PATH_MS,
  LIFE_SIGN_MS,
  PATH_PINGS_MAX,
  TRUNK_ANSWER_MS,
  TRUNK_DOUBT_MS,
  TRUNK_FLUSH_MS,
  TRUNK_IDLE_MS,
} from '../limits.ts';

export interface HeldTrunkOptions {
  readonly socket: WebSocketByteStream;
  /** id of the key that it was opened with */
  readonly keyId: string;
  /** told once, when it has ended from either side */
  readonly ended: (trunk: HeldTrunk) => void;
}

export class HeldTrunk {
  readonly keyId: string;
  readonly #socket: WebSocketByteStream;
  readonly #trunk: Trunk;
  /** how often the round trip was asked for */
  #pathPings = 0;
  /** since when it carries no stream, monotonic ms, as far as {@link tick} has seen */
  #unusedSince: number | undefined;
  /** how often the client had said something, and since when it has not although there was reason to, monotonic ms */
  #words = 0;
  #quietSince: number | undefined;
  /** since when it owes a sign of life that it was asked for, monotonic ms */
  #askedAt: number | undefined;
  /** when ends of streams were to be answered last, monotonic ms */
  #answeredAt: number | undefined;

  constructor({ socket, keyId, ended }: HeldTrunkOptions) {
    this.keyId = keyId;
    this.#socket = socket;
    this.#trunk = new Trunk(socket, {
      begins: 'this',
      flushMs: TRUNK_FLUSH_MS,
      owner: {
        // The client does neither: `Trunk` ends with a protocol error.
        begun: (stream) => stream.destroy(),
        moveAsked: (stream) => stream.destroy(),
        closed: () => ended(this),
      },
    });
    this.#measurePath();
  }

  /** Whether the client has answered a ping like one that is nearby. */
  get isNear(): boolean {
    return this.#socket.roundTripMs < FAR_PATH_MS;
  }

  /** Streams that it carries. */
  get size(): number {
    return this.#trunk.size;
  }

  /** Whether a visitor may be sent through it: not while the client owes a sign of life. */
  get takesVisitors(): boolean {
    return this.#trunk.takesStreams && (this.#askedAt === undefined || !this.#socket.isSilent);
  }

  open(): TrunkStream {
    this.#unusedSince = undefined;
    return this.#trunk.open();
  }

  /** It takes no visitors any more, and closes behind the last one that it has. */
  retire(): void {
    this.#trunk.retire();
  }

  /** Ends it for both sides, with all of its streams. */
  close(code: number): void {
    this.#trunk.close(code);
  }

  /**
   * Closes what nobody has used for {@link TRUNK_IDLE_MS}, and looks after the client, who may be gone without a word: one
   * that has said nothing to what it was sent is asked for a sign of life, and gets no visitors until it has given one;
   * without one, the trunk ends. So it does where the client never answers the end of a stream, which would be counted for ever.
   *
   * @param now monotonic ms; to be called about every second
   */
  tick(now: number): void {
    this.#answeredAt ??= now;
    if (now - this.#answeredAt >= TRUNK_ANSWER_MS) {
      this.#answeredAt = now;
      this.#trunk.expectAnswers();
    }
    if (this.size > 0) this.#unusedSince = undefined;
    else this.#unusedSince ??= now;
    if (this.#unusedSince !== undefined && now - this.#unusedSince >= TRUNK_IDLE_MS) this.retire();
    else if (this.#askedAt === undefined) this.#listen(now);
    else if (!this.#socket.isSilent) this.#askedAt = undefined;
    else if (now - this.#askedAt >= LIFE_SIGN_MS) this.#trunk.lose();
    if (!this.isNear && this.#pathPings < PATH_PINGS_MAX) this.#measurePath();
  }

  #measurePath(): void {
    this.#pathPings += 1;
    this.#socket.measureRoundTrip();
  }

  #listen(now: number): void {
    const trunk = this.#trunk;
    if (!trunk.isUnanswered || trunk.words !== this.#words) this.#quietSince = undefined;
    this.#words = trunk.words;
    if (!trunk.isUnanswered) return;
    this.#quietSince ??= now;
    if (now - this.#quietSince < TRUNK_DOUBT_MS) return;
    this.#quietSince = undefined;
    this.#askedAt = now;
    trunk.probe();
  }
}

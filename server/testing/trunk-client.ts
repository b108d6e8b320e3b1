/** The client's end of a trunk, in memory. */
import { duplexPair } from 'node:stream';
import { Trunk } from '../../shared/trunk/trunk.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';

export class TrunkClient {
  /** the relay's end */
  readonly socket: WebSocketByteStream;
  /** visitors' streams, with their first bytes */
  readonly streams: TrunkStream[] = [];
  readonly received: string[] = [];
  /** streams that the relay asks to move, with the ids of their data sockets */
  readonly moves: [TrunkStream, string][] = [];
  /** its close codes: one at most */
  readonly closed: number[] = [];
  readonly #near: WebSocketByteStream;

  /** @param isThere whether it reads; otherwise it sends nothing, not even a pong, until {@link wake} */
  constructor({ isThere = true } = {}) {
    const [near, far] = duplexPair();
    this.socket = new WebSocketByteStream(far, 'server', Buffer.alloc(0));
    this.#near = new WebSocketByteStream(near, 'client', Buffer.alloc(0));
    if (isThere) this.wake();
  }

  /** Reads everything received so far, and from now on. */
  wake(): void {
    const begun = (stream: TrunkStream, first: Buffer): void => {
      this.streams.push(stream);
      this.received.push(first.toString());
      stream.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose() {} });
    };
    const closed = (code: number): void => void this.closed.push(code);
    const moveAsked = (stream: TrunkStream, connectionId: string): void =>
      void this.moves.push([stream, connectionId]);
    void new Trunk(this.#near, { flushMs: 300_000, begins: 'peer', owner: { begun, moveAsked, closed } });
  }

  /** Reads everything, answers pings, and sends nothing else. */
  listen(): void {
    this.#near.attach({
      onStreamData() {},
      onStreamDrain() {},
      onStreamClose: (code) => this.closed.push(code),
    });
  }

  /** Sends raw bytes. */
  write(bytes: Buffer): void {
    this.#near.write(bytes);
  }

  /** Its connection breaks. */
  leave(): void {
    this.#near.destroy();
  }
}

/** Waits until everything that is in progress in memory is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The client's end of a trunk, in memory. */
import { duplexPair } from 'node:stream';
import { Trunk } from '../../shared/trunk/trunk.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';

export class TrunkClient {
  /** the relay's end */
  readonly socket: WebSocketByteStream;
  /** visitors' streams, with the bytes they began with */
  readonly streams: TrunkStream[] = [];
  readonly received: string[] = [];
  /** ids of data sockets to which the relay asks to move streams, with these */
  readonly moves: [TrunkStream, string][] = [];
  /** the codes with which it ended: one at most */
  readonly closed: number[] = [];
  readonly #near: WebSocketByteStream;

  /** @param isThere whether it takes what comes; one that does not says nothing, not even to a ping, until it does */
  constructor({ isThere = true } = {}) {
    const [near, far] = duplexPair();
    this.socket = new WebSocketByteStream(far, 'server', Buffer.alloc(0));
    this.#near = new WebSocketByteStream(near, 'client', Buffer.alloc(0));
    if (isThere) this.wake();
  }

  /** It takes what has come, and what comes from now on. */
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

  /** It takes what has come and what comes, answers pings, and says nothing else. */
  listen(): void {
    this.#near.attach({
      onStreamData() {},
      onStreamDrain() {},
      onStreamClose: (code) => this.closed.push(code),
    });
  }

  /** Sends bytes as they are. */
  write(bytes: Buffer): void {
    this.#near.write(bytes);
  }

  /** Its connection breaks. */
  leave(): void {
    this.#near.destroy();
  }
}

/** Lets everything that is under way in memory arrive. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

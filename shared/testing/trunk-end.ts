/** One end of a trunk. The test plays the other. */
import { Trunk } from '../trunk/trunk.ts';
import type { TrunkStream } from '../trunk/trunk-stream.ts';
import { FakeTrunkSocket, type FakeTrunkSocketOptions } from './fake-trunk-socket.ts';
import type { FakeScheduler } from './fake-turns.ts';
import { read } from './trunk-frames.ts';

/** A stream with the recorded calls of its handler. */
export class StreamRecorder {
  readonly stream: TrunkStream;
  readonly pieces: Buffer[] = [];
  drained = 0;
  readonly closed: number[] = [];

  constructor(stream: TrunkStream, first?: Buffer) {
    this.stream = stream;
    if (first !== undefined) this.pieces.push(first);
    stream.attach({
      onStreamData: (piece) => this.pieces.push(piece),
      onStreamDrain: () => {
        this.drained += 1;
      },
      onStreamClose: (code) => this.closed.push(code),
    });
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString();
  }

  get size(): number {
    return this.pieces.reduce((sum, { length }) => sum + length, 0);
  }
}

/** ms that a trunk in a test gives its peer to read more of the remaining data of an ended stream. */
export const FLUSH_MS = 300_000;

export class TrunkEnd {
  readonly turns: FakeScheduler;
  readonly socket: FakeTrunkSocket;
  readonly trunk: Trunk;
  /** streams begun by the peer */
  readonly begun: StreamRecorder[] = [];
  readonly closed: number[] = [];
  /** ids of data sockets to which the peer asks to move streams, with the streams */
  readonly moves: [TrunkStream, string][] = [];

  constructor(turns: FakeScheduler, begins: 'this' | 'peer', options?: FakeTrunkSocketOptions) {
    this.turns = turns;
    this.socket = new FakeTrunkSocket(options);
    this.trunk = new Trunk(this.socket, {
      flushMs: FLUSH_MS,
      begins,
      owner: {
        begun: (stream, first) => this.begun.push(new StreamRecorder(stream, first)),
        moveAsked: (stream, connectionId) => this.moves.push([stream, connectionId]),
        closed: (code) => this.closed.push(code),
      },
    });
  }

  /** Begins a stream. */
  open(): StreamRecorder {
    return new StreamRecorder(this.trunk.open());
  }

  /** What the peer receives at the end of this turn, and of those that it causes. */
  sent(): string[] {
    do this.turns.end();
    while (this.turns.isBusy);
    return read(this.socket.take());
  }

  /** Frames of the peer arrive. */
  hear(...frames: readonly Buffer[]): void {
    this.socket.receive(Buffer.concat(frames));
  }
}

/** The results of the engine's attempts, as promises. */
import type { ByteStreamHandler } from '../../shared/websocket/byte-stream.ts';
import type { DataHandler, DataSocket } from '../client/data/data-dialer.ts';
import type { LocalDialer } from '../client/local/local-dialer.ts';
import type { LocalConnection } from '../client/local/local-service.ts';
import type { Attempt } from '../client/network/dial.ts';

/** An attempt that never reports anything. */
export const IDLE_ATTEMPT: Attempt = { cancel() {} };

/** @throws what the dial fails with */
export function connectLocal(dialer: LocalDialer): Promise<LocalConnection> {
  return new Promise((connected, reject) => {
    dialer.connect({ connected, refused: reject });
  });
}

/** Everything that came over a data socket. */
export class DataReceiver implements ByteStreamHandler {
  readonly stream: DataSocket;
  text = '';
  readonly #waiting: (() => void)[] = [];

  constructor(stream: DataSocket) {
    this.stream = stream;
    stream.attach(this);
  }

  /** Waits for that many bytes in all. */
  async read(length: number): Promise<string> {
    while (this.text.length < length) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.text;
  }

  onStreamData(piece: Buffer): void {
    this.text += piece.toString('latin1');
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  onStreamDrain(): void {}

  onStreamClose(): void {}
}

/** @throws what the attempt fails with */
export function openData(start: (handler: DataHandler) => Attempt): Promise<DataReceiver> {
  return new Promise((resolve, failed) => {
    start({ opened: (stream) => resolve(new DataReceiver(stream)), failed });
  });
}

import { isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import type { DataSocket } from './data-socket.ts';
import type { Recorder, Recording } from './recorder.ts';
import { StreamFilter } from './stream-filter.ts';

/** Has a recorder see what passes over one data socket. */
export class RecordedStream extends StreamFilter {
  readonly #recorder: Recorder;
  readonly #waitedMs: number;
  #recording: Recording | undefined;
  #isConnected = false;
  #hasEnded = false;

  /** @param waitedMs as in {@link Recorder.open} */
  constructor(inner: DataSocket, recorder: Recorder, waitedMs = 0) {
    super(inner);
    this.#recorder = recorder;
    this.#waitedMs = waitedMs;
  }

  override connected(): void {
    this.#isConnected = true;
    if (!this.#hasEnded) this.#recording?.connected();
    super.connected();
  }

  override onStreamData(piece: Buffer): void {
    if (!this.#hasEnded) {
      this.#recording ??= this.#open();
      this.#recording.toLocal(piece);
    }
    super.onStreamData(piece);
  }

  override write(chunk: Buffer): boolean {
    // Before it is written: a data socket masks bytes in place.
    if (!this.#hasEnded) this.#recording?.toVisitor(chunk);
    return super.write(chunk);
  }

  override close(code: number): void {
    this.#end(!isCleanClose(code));
    super.close(code);
  }

  override destroy(): void {
    this.#end(true);
    super.destroy();
  }

  override onStreamClose(code: number): void {
    this.#end(!isCleanClose(code));
    super.onStreamClose(code);
  }

  #open(): Recording {
    const recording = this.#recorder.open(this.#waitedMs);
    if (this.#isConnected) recording.connected();
    return recording;
  }

  #end(isBroken: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#recording?.end(isBroken);
  }
}

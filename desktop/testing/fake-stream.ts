/** A data socket whose other end is the test, and the results of the engine's attempts, as promises. */
import type { ByteStreamHandler } from '../../shared/websocket/byte-stream.ts';
import type { DataSocket } from '../client/data/data-dialer.ts';
import type { LocalDialer } from '../client/local/local-dialer.ts';
import type { LocalConnection } from '../client/local/local-service.ts';
import type { Attempt } from '../client/network/dial.ts';

/** What a test waits for. */
export abstract class Watched {
  readonly #watchers = new Set<() => void>();

  /** Resolves when the condition holds, checked after every change. */
  until(condition: (it: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition(this)) return;
        this.#watchers.delete(check);
        resolve();
      };
      this.#watchers.add(check);
      check();
    });
  }

  protected changed(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

/** A data socket; the test is the relay's end. */
export class FakeStream extends Watched implements DataSocket {
  /** everything written */
  sent = '';
  /** code of the Close frame, or `cut` */
  ended: number | 'cut' | undefined;
  /** as the handshake leaves it, until a handler is attached */
  paused = true;
  /** times that it was asked for an end behind what is not taken */
  looks = 0;
  /** what `write` returns */
  room = true;
  peers = '';
  #handler: ByteStreamHandler | undefined;

  attach(handler: ByteStreamHandler): void {
    this.#handler = handler;
    this.resume();
  }

  write(chunk: Buffer): boolean {
    this.sent += chunk.toString('latin1');
    this.changed();
    return this.room;
  }

  pause(): void {
    this.paused = true;
    this.changed();
  }

  resume(): void {
    this.paused = false;
    this.changed();
  }

  end(): void {
    this.sent += '<eof>';
    this.changed();
  }

  close(code: number): void {
    this.ended ??= code;
    this.changed();
  }

  destroy(): void {
    this.ended ??= 'cut';
    this.changed();
  }

  lookForEnd(): void {
    this.looks += 1;
  }

  /** The relay sends bytes. */
  receive(bytes: string | Buffer): void {
    this.#handler?.onStreamData(Buffer.from(bytes as string));
  }

  /** The relay has taken what was queued. */
  drain(): void {
    this.room = true;
    this.#handler?.onStreamDrain();
  }

  /** The visitor has sent everything. */
  endByRelay(): void {
    this.#handler?.onStreamEnd?.();
  }

  /** The relay closes. */
  closeByRelay(code: number): void {
    this.#handler?.onStreamClose(code);
  }
}

/** An attempt that never reports anything. */
export const IDLE_ATTEMPT: Attempt = { cancel() {} };

/** @throws what the dial fails with */
export function connectLocal(dialer: LocalDialer): Promise<LocalConnection> {
  return new Promise((connected, reject) => {
    dialer.connect({ connected, refused: reject });
  });
}

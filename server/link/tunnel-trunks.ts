/** The trunks of one tunnel: which of them takes the next visitor, and how they end. */
import { CloseCode, type KeyEnd } from '../../shared/control.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import type { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { LARGE_BYTES, LARGE_FROM_FAR_BYTES, RETIRED_TRUNKS_MAX } from '../limits.ts';
import { HeldTrunk } from './held-trunk.ts';

/** A stream to the client, the key that its trunk was opened with, and bytes one way from which on it is better off on a data socket. */
export interface KeyedStream {
  readonly stream: TrunkStream;
  readonly keyId: string;
  readonly largeBytes: number;
}

export class TunnelTrunks {
  /** those of the client's present control socket */
  readonly #current = new Set<HeldTrunk>();
  /** those of earlier ones, oldest first, which carry the visitors that they had */
  readonly #retired = new Set<HeldTrunk>();

  /** Trunks that visitors can be sent through. */
  get size(): number {
    return this.#current.size;
  }

  /** Streams that all of them carry, those of an earlier control socket included. */
  get streams(): number {
    return this.#all().reduce((sum, trunk) => sum + trunk.size, 0);
  }

  add(socket: WebSocketByteStream, keyId: string): void {
    const ended = (trunk: HeldTrunk): void => {
      this.#current.delete(trunk);
      this.#retired.delete(trunk);
    };
    this.#current.add(new HeldTrunk({ socket, keyId, ended }));
  }

  /** Begins a stream on the trunk that has the fewest; `undefined` where none takes any. */
  open(): KeyedStream | undefined {
    let least: HeldTrunk | undefined;
    for (const trunk of this.#current) {
      if (trunk.takesVisitors && (least === undefined || trunk.size < least.size)) least = trunk;
    }
    if (least === undefined) return undefined;
    return { stream: least.open(), keyId: least.keyId, largeBytes: this.#largeBytes };
  }

  /**
   * All of them lead to one client, and the second is opened with the first visitors: where these are many, the answer to its
   * ping waits behind them, and says nothing of the path.
   */
  get #largeBytes(): number {
    for (const trunk of this.#current) if (trunk.isNear) return LARGE_BYTES;
    return LARGE_FROM_FAR_BYTES;
  }

  /** The control socket that they belong to has ended: they serve whom they serve now. */
  retire(): void {
    for (const trunk of this.#current) {
      this.#current.delete(trunk);
      this.#retired.add(trunk);
      trunk.retire();
    }
    // A client that comes again and again must not pile up what its visitors have left behind.
    for (const trunk of this.#retired) {
      if (this.#retired.size <= RETIRED_TRUNKS_MAX) break;
      trunk.close(CloseCode.goingAway);
    }
  }

  /** Ends all of them at once. */
  close(code: number): void {
    for (const trunk of this.#all()) trunk.close(code);
  }

  /** Ends those that were opened with keys that are no longer valid. */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void {
    for (const trunk of this.#all()) if (keys.has(trunk.keyId)) trunk.close(CloseCode.keyRevoked);
  }

  /** Ids of the keys that they were opened with. */
  *keysInUse(): Generator<string> {
    for (const trunk of this.#all()) yield trunk.keyId;
  }

  /** @param now monotonic ms; to be called about every second */
  tick(now: number): void {
    for (const trunk of this.#all()) trunk.tick(now);
  }

  #all(): HeldTrunk[] {
    return [...this.#current, ...this.#retired];
  }
}

/** A tunnel that this relay does not know, though another one may have created it: looked up when a request needs it. */
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import type { Dial, Dialer, DialFault, DialHandler } from '../../tunnels/stream.ts';
import type { OwnResponse } from '../own/own-responses.ts';

const STORE_TEXT =
  'Whether there is a tunnel at this address cannot be found out right now. Try again in a moment.';

/** Opens a stream to where a request goes. */
export interface OriginHandler extends DialHandler {
  /** The relay itself responds: nothing is handed to a stream. */
  intercepted(response: OwnResponse): void;
}

export class TunnelLookup {
  /** The tunnel, once it is known. */
  found: LiveTunnel | undefined;
  readonly #find: () => Promise<LiveTunnel | undefined>;
  readonly #missing: DialFault;

  /**
   * @param find rejects when the tunnel cannot be looked up
   * @param missing what visitors are told if there is none
   */
  constructor(find: () => Promise<LiveTunnel | undefined>, missing: DialFault = 'tunnel-unknown') {
    this.#find = find;
    this.#missing = missing;
  }

  /**
   * Finds the tunnel and opens a stream to it.
   *
   * @param gate finds the relay's response in place of the tunnel's, if there is one; never rejects
   */
  dial(
    dialer: Dialer,
    handler: OriginHandler,
    gate: (tunnel: LiveTunnel) => Promise<OwnResponse | undefined>,
  ): Dial {
    let cancelled = false;
    let dial: Dial | undefined;
    const goOn = async (): Promise<void> => {
      const tunnel = await this.#find().catch(() => null);
      if (cancelled) return;
      if (tunnel === null) return handler.failed('tunnel-offline', STORE_TEXT);
      this.found = tunnel;
      if (tunnel === undefined) return handler.failed(this.#missing);
      const response = await gate(tunnel);
      if (cancelled) return;
      if (response === undefined) dial = dialer.dial(tunnel, handler);
      else handler.intercepted(response);
    };
    void goOn();
    return {
      cancel() {
        cancelled = true;
        dial?.cancel();
      },
    };
  }
}

import type { Socket } from 'node:net';
import type { WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import type { Deadlines, Expiring } from '../deadlines.ts';
import { DATA_HANDSHAKE_TIMEOUT_MS, DATA_KEEP_ALIVE_MS } from '../limits.ts';
import type { Attempt, DialHandler } from '../network/dial.ts';
import { say } from '../said/said.ts';
import { sayNetworkError } from '../network/errors.ts';
import type { Network } from '../network/network.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { RelayAddress } from '../relay/relay-address.ts';
import type { DataHandler } from './data-socket.ts';
import { Upgrade, upgradeFields, type UpgradeHandler } from './upgrade.ts';

/** Told once what became of a socket, never before it has been asked for. */
export interface SocketHandler {
  /** Attaches to the stream before it returns. */
  opened(stream: WebSocketByteStream): void;
  /** As {@link DataHandler.failed}. */
  failed(error: RelayRefusal | RelayUnreachable): void;
}

/** Opens data sockets and trunks to one relay, each within {@link DATA_HANDSHAKE_TIMEOUT_MS}. */
export class DataDialer {
  readonly #relay: RelayAddress;
  readonly #network: Network;
  readonly #deadlines: Deadlines;
  readonly #fields: string;
  #knownAddress: string | undefined;

  constructor(relay: RelayAddress, network: Network, deadlines: Deadlines) {
    this.#relay = relay;
    this.#network = network;
    this.#deadlines = deadlines;
    this.#fields = upgradeFields(relay.host);
  }

  /** An IP address at which the relay answered: tried first, which saves a name look-up for each visitor. */
  prefer(address: string | undefined): void {
    this.#knownAddress = address;
  }

  /**
   * Opens the data socket of a pending connection.
   *
   * @param connectionId the `id` of a `connection` message
   */
  open(connectionId: string, handler: DataHandler): Attempt {
    return this.#open(`/ws/data?id=${encodeURIComponent(connectionId)}`, this.#fields, handler);
  }

  /**
   * Opens a trunk for the visitors of a tunnel (docs/protocol.md section 10).
   *
   * @param key API key of the tunnel's owner
   */
  openTrunk(tunnelId: string, key: string, handler: SocketHandler): Attempt {
    const fields = upgradeFields(this.#relay.host, key);
    return this.#open(`/ws/trunk?tunnel_id=${encodeURIComponent(tunnelId)}`, fields, handler);
  }

  #open(target: string, fields: string, handler: SocketHandler): Attempt {
    const dial: Dial = (address, dialHandler) =>
      this.#network.connect(this.#relay, { address, keepAliveMs: DATA_KEEP_ALIVE_MS }, dialHandler);
    return new DataAttempt({
      relay: this.#relay,
      dial,
      knownAddress: this.#knownAddress,
      target,
      fields,
      deadlines: this.#deadlines,
      handler,
    });
  }
}

/** @param address IP address of the relay; without it, its name is looked up */
type Dial = (address: string | undefined, handler: DialHandler) => Attempt;

interface DataAttemptOptions {
  readonly relay: RelayAddress;
  readonly dial: Dial;
  /** an address at which the relay answered */
  readonly knownAddress: string | undefined;
  /** path and query of what is asked for */
  readonly target: string;
  /** {@link upgradeFields} */
  readonly fields: string;
  readonly deadlines: Deadlines;
  readonly handler: SocketHandler;
}

class DataAttempt implements Attempt, DialHandler, UpgradeHandler, Expiring {
  readonly #options: DataAttemptOptions;
  /** Whether the name is still to be tried when this address fails. */
  #hasName: boolean;
  #step: Attempt;

  constructor(options: DataAttemptOptions) {
    this.#options = options;
    const { relay, dial, knownAddress, deadlines } = options;
    this.#hasName = knownAddress !== undefined && knownAddress !== relay.hostname;
    this.#step = dial(knownAddress, this);
    deadlines.add(this, DATA_HANDSHAKE_TIMEOUT_MS);
  }

  connected(socket: Socket): void {
    const { target, fields } = this.#options;
    this.#step = new Upgrade(socket, target, fields, this);
  }

  failed(error: Error): void {
    if (!this.#hasName) return this.refused(error);
    this.#hasName = false;
    this.#step = this.#options.dial(undefined, this);
  }

  opened(stream: WebSocketByteStream): void {
    this.#options.deadlines.delete(this);
    this.#options.handler.opened(stream);
  }

  refused(error: Error): void {
    this.#options.deadlines.delete(this);
    this.#options.handler.failed(error instanceof RelayRefusal ? error : this.#unreachable(error));
  }

  expire(): void {
    this.#step.cancel();
    this.refused(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
  }

  cancel(): void {
    this.#options.deadlines.delete(this);
    this.#step.cancel();
  }

  #unreachable(cause: Error): RelayUnreachable {
    const { origin } = this.#options.relay;
    return new RelayUnreachable(say('relay.noData', { origin, why: sayNetworkError(cause) }), { cause });
  }
}

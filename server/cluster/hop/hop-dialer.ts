/** Passes a data socket on to the relay where its visitor waits (docs/decisions/0009-cluster.md). */
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { HOP_CONNECT_TIMEOUT_MS, HOPS_ASKED_MAX, KEEP_ALIVE_MS } from '../../limits.ts';
import type { Hop, UpgradeToPass } from '../../link/other-relays.ts';
import { relayOf } from '../connection-id.ts';
import { HopCarrier } from './hop-carrier.ts';
import { HopConnection, type HopHandler } from './hop-connection.ts';
import { HopPool } from './hop-pool.ts';
import { HopResponse } from './hop-response.ts';
import { HOP_TLS, hopKey, writeRequest } from './hop.ts';
import type { RelayAddress } from '../member-record.ts';
import type { Membership } from '../membership.ts';

export class HopDialer {
  readonly #membership: Pick<Membership, 'find'>;
  readonly #incarnation: string;
  readonly #secret: string;
  readonly #pool = new HopPool();
  /** by the incarnation of the relay, how many requests to it are still unanswered */
  readonly #asked = new Map<string, number>();
  #open = 0;

  /** @param incarnation of this relay */
  constructor(membership: Pick<Membership, 'find'>, incarnation: string, secret: string) {
    this.#membership = membership;
    this.#incarnation = incarnation;
    this.#secret = secret;
  }

  /** Data sockets that pass through here now. */
  get open(): number {
    return this.#open;
  }

  /**
   * Asks the relay that a connection's id names to take a data socket. The client's connection is not touched before it has.
   *
   * @returns `undefined` if the id names no relay, this one, or one that cannot be reached, refuses, or has as many requests
   *   open as allowed; strangers make up ids
   */
  async dial(request: UpgradeToPass): Promise<Hop | undefined> {
    const address = this.#membership.find(relayOf(request.id, this.#secret) ?? 0);
    if (address === undefined) return undefined;
    const asked = this.#asked.get(address.incarnation) ?? 0;
    if (asked >= HOPS_ASKED_MAX) return undefined;
    this.#asked.set(address.incarnation, asked + 1);
    try {
      return await this.#dial(address, request);
    } finally {
      this.#answered(address.incarnation);
    }
  }

  async #dial(address: RelayAddress, request: UpgradeToPass): Promise<Hop | undefined> {
    const kept = this.#pool.take(address.incarnation);
    const first = kept && (await this.#ask(kept, address, request));
    // The kept one may have been closed just when it was needed: a new one is asked once more.
    if (first !== undefined && first !== 'lost') return first === 'refused' ? undefined : first;
    const fresh = await this.#connect(address);
    const second = fresh && (await this.#ask(fresh, address, request));
    return typeof second === 'string' ? undefined : second;
  }

  #answered(incarnation: string): void {
    const asked = (this.#asked.get(incarnation) ?? 0) - 1;
    if (asked > 0) this.#asked.set(incarnation, asked);
    else this.#asked.delete(incarnation);
  }

  /** Closes the connections that carry nothing. */
  close(): void {
    this.#pool.close();
  }

  async #ask(
    connection: HopConnection,
    { incarnation }: RelayAddress,
    request: UpgradeToPass,
  ): Promise<Hop | 'refused' | 'lost'> {
    const response = new HopResponse(connection);
    connection.send([writeRequest(request)]);
    const verdict = await response.verdict;
    if (verdict !== 'taken') {
      connection.destroy();
      return verdict;
    }
    return {
      carry: (client, head) => {
        if (head.length > 0) connection.send([head]);
        this.#carry(client, connection, response, incarnation);
      },
      cancel: () => connection.destroy(),
    };
  }

  #carry(client: Duplex, connection: HopConnection, response: HopResponse, incarnation: string): void {
    this.#open += 1;
    const carrier = new HopCarrier(client, connection, {
      free: () => this.#pool.keep(incarnation, connection),
      done: () => {
        this.#open -= 1;
      },
    });
    connection.handler = carrier;
    response.replay(carrier);
  }

  /** @returns `undefined` if the relay cannot be reached in time, or does not prove that it is the one that was meant */
  async #connect({ host, port, incarnation }: RelayAddress): Promise<HopConnection | undefined> {
    const from = this.#incarnation;
    const psk = hopKey({ from, to: incarnation }, this.#secret);
    if (psk === undefined) return undefined;
    return await new Promise((resolve) => {
      const socket = connect({
        host,
        port,
        ...HOP_TLS,
        pskCallback: () => ({ psk, identity: from }),
        // Called only for a peer that shows a certificate because it does not know the key.
        checkServerIdentity: () => new Error('the other end is no relay of this cluster'),
      });
      // Not one that bytes put off.
      const timer = setTimeout(() => socket.destroy(), HOP_CONNECT_TIMEOUT_MS);
      socket.on('timeout', () => socket.destroy());
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        clearTimeout(timer);
        resolve(undefined);
      });
      socket.once('secureConnect', () => {
        clearTimeout(timer);
        socket.setNoDelay(true);
        socket.setKeepAlive(true, KEEP_ALIVE_MS);
        resolve(new HopConnection(socket, NOBODY));
      });
    });
  }
}

/** Until the first request is sent. */
const NOBODY: HopHandler = { onPiece() {}, onEnd() {}, onDrain() {}, onClose() {} };

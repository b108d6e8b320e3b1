/** Passes a data socket on to the relay where its visitor waits (docs/decisions/0009-cluster.md). */
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HOP_ANSWER_TIMEOUT_MS, HOP_CONNECT_TIMEOUT_MS, KEEP_ALIVE_MS } from '../limits.ts';
import { relayOf } from './connection-id.ts';
import { type UpgradeToPass, writeHop } from './hop.ts';
import type { Membership } from './membership.ts';
import { splice } from './splice.ts';

/** How a relay's answer begins that has taken a data socket. */
const SWITCHING = Buffer.from('HTTP/1.1 101 ');

/** A connection to another relay, which has taken the data socket. */
export interface Hop {
  /** Joins it with the client's connection, which is given away for good. `head`: bytes read behind the request. */
  carry(client: Duplex, head: Buffer): void;
  /** The client has left meanwhile. */
  cancel(): void;
}

export class HopDialer {
  readonly #membership: Pick<Membership, 'find'>;
  readonly #incarnation: string;
  readonly #secret: string;
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
   * Has the relay that a connection's id names take a data socket. The client's connection is not touched before.
   *
   * @returns `undefined` where the id names no relay, this one, or one that cannot be reached or refuses
   */
  async dial(request: UpgradeToPass): Promise<Hop | undefined> {
    const address = this.#membership.find(relayOf(request.id) ?? 0);
    if (address === undefined) return undefined;
    const socket = await connected(address.host, address.port);
    if (socket === undefined) return undefined;
    const hop = { ...request, via: this.#incarnation };
    socket.write(writeHop(hop, address.incarnation, this.#secret));
    const answer = await firstBytes(socket, SWITCHING.length);
    if (answer?.subarray(0, SWITCHING.length).equals(SWITCHING) !== true) {
      socket.destroy();
      return undefined;
    }
    return {
      carry: (client, head) => {
        client.write(answer);
        this.#carry(client, head, socket);
      },
      cancel: () => socket.destroy(),
    };
  }

  #carry(client: Duplex, head: Buffer, relay: Socket): void {
    this.#open += 1;
    if (head.length > 0) relay.write(head);
    splice(client, relay, () => {
      this.#open -= 1;
    });
  }
}

/** @returns so many bytes, or more, after which reading pauses; `undefined` when they do not come */
async function firstBytes(socket: Socket, count: number): Promise<Buffer | undefined> {
  return await new Promise((resolve) => {
    socket.setTimeout(HOP_ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.once('close', () => resolve(undefined));
    let read = Buffer.alloc(0);
    socket.on('data', function onData(chunk: Buffer) {
      read = Buffer.concat([read, chunk]);
      if (read.length < count) return;
      socket.off('data', onData).pause().setTimeout(0);
      resolve(read);
    });
  });
}

async function connected(host: string, port: number): Promise<Socket | undefined> {
  return await new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    socket.setTimeout(HOP_CONNECT_TIMEOUT_MS, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve(undefined));
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

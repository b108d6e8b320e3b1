/** A relay with many tunnels of an attacker, and sockets of both kinds on them. */
import { within } from '../../../support/deadline.ts';
import { formatRequest, type RawConnection } from '../../../support/raw-http.ts';
import type { Scope } from '../../../support/scope.ts';
import { type AttackedRelay, startAttackedRelay } from '../../tools/attacked-relay.ts';
import { upgrade } from '../../tools/raw-websocket.ts';
import { SHIPPED } from '../../../support/shipped-proxies.ts';
import type { Place } from './abuses.ts';

/** Addresses from which they come, so that none has more than it is allowed. */
const ADDRESSES = 20;
const ANNOUNCED_MS = 20_000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** A socket of the attacker's, and what it is for. */
export interface AbusedSocket {
  readonly connection: RawConnection;
  /** Ends the reason for which the relay keeps it. */
  release(): Promise<void>;
}

export class Stage {
  readonly attacked: AttackedRelay;

  private constructor(attacked: AttackedRelay) {
    this.attacked = attacked;
  }

  /** @param count of tunnels, each for one socket at a time */
  static async start(scope: Scope, count: number): Promise<Stage> {
    return new Stage(await startAttackedRelay(scope, { count, name: 'abused' }));
  }

  /** Opens a socket that is in use until it is released. */
  async open(scope: Scope, place: Place, index: number): Promise<AbusedSocket> {
    const tunnel = this.attacked.tunnel(index);
    const control = await this.#connect(scope, index, `/ws/control?tunnel_id=${tunnel.id}`);
    if (place === 'control') {
      // A newer one replaces it.
      return { connection: control, release: async () => void (await this.open(scope, 'control', index)) };
    }
    const visitor = await this.attacked.front.open(scope, { from: address(index) });
    await visitor.write(formatRequest({ host: `${tunnel.slug}.${SHIPPED.tunnelDomain}` }));
    const connection = await this.#connect(scope, index, `/ws/data?id=${await announced(control)}`);
    return { connection, release: async () => visitor.reset() };
  }

  async #connect(scope: Scope, index: number, target: string): Promise<RawConnection> {
    const connection = await this.attacked.front.open(scope, { from: address(index) });
    const headers = [['Authorization', `Bearer ${this.attacked.attacker.key}`]] as const;
    await upgrade(connection, { host: SHIPPED.relayHost, target, headers });
    return connection;
  }
}

function address(index: number): string {
  return `127.0.0.${10 + (index % ADDRESSES)}`;
}

/** The id of the next connection announced on a control socket. */
async function announced({ reader }: RawConnection): Promise<string> {
  let text = '';
  const read = async (): Promise<string> => {
    for (;;) {
      const id = UUID.exec(text)?.[0];
      if (id !== undefined) return id;
      text += (await reader.some())?.toString('latin1') ?? '';
    }
  };
  return await within(ANNOUNCED_MS, 'announcement', read());
}

/** A relay with many tunnels of an attacker, each with a client whose trunk carries visitors. */
import { eventually } from '../../../support/deadline.ts';
import { ManualClient } from '../../../support/manual-client.ts';
import { formatRequest, type RawConnection } from '../../../support/raw-http.ts';
import type { Scope } from '../../../support/scope.ts';
import { SHIPPED } from '../../../support/shipped-proxies.ts';
import { openData } from '../../../support/spec-client/control.ts';
import type { TrunkClientStream } from '../../../support/spec-client/trunk.ts';
import { WITH_TRUNKS } from '../../../support/trunk-world.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import { type AttackedRelay, startAttackedRelay } from '../../tools/attacked-relay.ts';
import type { Attack, Target } from './attacks.ts';

const COME_MS = 30_000;

export class Stage {
  readonly attacked: AttackedRelay;

  private constructor(attacked: AttackedRelay) {
    this.attacked = attacked;
  }

  /** @param count of tunnels, each for one attack at a time */
  static async start(scope: Scope, count: number): Promise<Stage> {
    // All who come here come from one address.
    const settings = { ...WITH_TRUNKS, CULVERT_ADDRESS_CONNECTIONS: '100000' };
    return new Stage(await startAttackedRelay(scope, { count, name: 'trunk', settings }));
  }

  /** Opens a trunk of a tunnel, with visitors. */
  async open(scope: Scope, index: number, { visitors, upload }: Attack): Promise<Target> {
    const tunnel = this.attacked.tunnel(index);
    const client = await ManualClient.adopt(scope, this.attacked.relay, this.attacked.attacker, tunnel);
    const trunk = await client.trunk({ isFar: true });
    trunk.grants = false;
    const come = Array.from({ length: visitors }, () => this.#visit(scope, tunnel, upload));
    const streams: TrunkClientStream[] = [];
    while (streams.length < visitors) {
      const stream = await trunk.accept(COME_MS);
      await stream.receivedUpTo('\r\n\r\n', COME_MS);
      streams.push(stream);
    }
    const [first, ...others] = streams;
    if (first === undefined) throw new Error('an attack needs a visitor');
    return {
      trunk,
      visitors: await Promise.all(come),
      streams: [first, ...others],
      // One that has just ended may still be counted.
      open: () => eventually(COME_MS, () => client.trunk()),
      openData: (id) => openData(scope, this.attacked.relay, id),
      renew: () => client.reconnect(),
    };
  }

  /** A request that is not to be repeated: where its trunk is lost, the visitor hears of it at once. */
  async #visit(scope: Scope, tunnel: Tunnel, upload: number): Promise<RawConnection> {
    const visitor = await this.attacked.front.open(scope);
    const host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
    const request = formatRequest({ host, method: 'POST', body: Buffer.alloc(upload, 'x') });
    // Not all of it may be taken before there is a response.
    visitor.socket.write(request);
    return visitor;
  }
}

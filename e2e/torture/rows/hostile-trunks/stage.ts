/** A relay with many tunnels of an attacker, each with a client whose trunk carries visitors. */
import { createAccount, type TestAccount } from '../../../support/accounts.ts';
import { eventually } from '../../../support/deadline.ts';
import { giveTunnels } from '../../../support/given-tunnels.ts';
import { ManualClient } from '../../../support/manual-client.ts';
import { Relay } from '../../../support/programs.ts';
import { formatRequest, type RawConnection } from '../../../support/raw-http.ts';
import type { Scope } from '../../../support/scope.ts';
import { SHIPPED } from '../../../support/shipped-proxies.ts';
import { openData } from '../../../support/spec-client/control.ts';
import type { TrunkClientStream } from '../../../support/spec-client/trunk.ts';
import { WITH_TRUNKS } from '../../../support/trunk-world.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import { type Front, straight } from '../../tools/fronts.ts';
import type { Attack, Target } from './attacks.ts';

const COME_MS = 30_000;

export class Stage {
  readonly relay: Relay;
  readonly front: Front;
  readonly #account: TestAccount;
  readonly #tunnels: readonly Tunnel[];

  private constructor(relay: Relay, account: TestAccount, tunnels: readonly Tunnel[]) {
    this.relay = relay;
    this.front = straight(relay.port);
    this.#account = account;
    this.#tunnels = tunnels;
  }

  /** @param count of tunnels, each for one attack at a time */
  static async start(scope: Scope, count: number): Promise<Stage> {
    const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
    // All who come here come from one address.
    const settings = {
      ...WITH_TRUNKS,
      CULVERT_PUBLIC_URL,
      CULVERT_TUNNEL_DOMAIN,
      CULVERT_ADDRESS_CONNECTIONS: '100000',
    };
    const relay = await Relay.start(scope, settings);
    const account = await createAccount(relay, { plan: 'team' });
    const given = Array.from({ length: count }, (_, index) => ({ slug: `trunk-${index}`, localPort: 9 }));
    await giveTunnels(scope, relay, account, given);
    return new Stage(relay, account, await account.api.list());
  }

  /** Opens a trunk of a tunnel, with visitors. */
  async open(scope: Scope, index: number, { visitors, upload }: Attack): Promise<Target> {
    const tunnel = this.#tunnels[index];
    if (tunnel === undefined) throw new Error(`there is no tunnel ${index}`);
    const client = await ManualClient.adopt(scope, this.relay, this.#account, tunnel);
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
      openData: (id) => openData(scope, this.relay, id),
      renew: () => client.reconnect(),
    };
  }

  /** A request that is not to be repeated: where its trunk is lost, the visitor hears of it at once. */
  async #visit(scope: Scope, tunnel: Tunnel, upload: number): Promise<RawConnection> {
    const visitor = await this.front.open(scope);
    const host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
    const request = formatRequest({ host, method: 'POST', body: Buffer.alloc(upload, 'x') });
    // Not all of it may be taken before there is a response.
    visitor.socket.write(request);
    return visitor;
  }
}

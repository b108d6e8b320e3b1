import { AccountPool } from './accounts.ts';
import type { ClientKind } from './clients.ts';
import { hostOf } from './manual-client.ts';
import { Relay } from './programs.ts';
import { formatRequest, RawConnection, type Request } from './raw-http.ts';
import type { Scope } from './scope.ts';
import { type LocalConnection, type ScriptedService, startScriptedService } from './services/scripted.ts';

/** A relay with one tunnel to a service whose every byte the test sends. */
export class ScriptedTunnel {
  readonly relay: Relay;
  readonly service: ScriptedService;
  readonly pool: AccountPool;
  /** The `Host` of the tunnel. */
  readonly host: string;
  readonly #scope: Scope;

  private constructor(scope: Scope, relay: Relay, service: ScriptedService, pool: AccountPool, host: string) {
    this.#scope = scope;
    this.relay = relay;
    this.service = service;
    this.pool = pool;
    this.host = host;
  }

  static async start(scope: Scope, kind: ClientKind): Promise<ScriptedTunnel> {
    const [relay, service] = await Promise.all([Relay.start(scope), startScriptedService(scope)]);
    const pool = new AccountPool(relay);
    const { key } = await pool.take();
    const { tunnel } = await kind.start(scope, relay, key, { localPort: service.port });
    return new ScriptedTunnel(scope, relay, service, pool, hostOf(tunnel, relay));
  }

  /** A visitor who has sent these bytes, and the local connection on which their head has arrived. */
  async send(bytes: string | Buffer): Promise<[RawConnection, LocalConnection]> {
    const visitor = await RawConnection.open(this.#scope, this.relay.port);
    await visitor.write(bytes);
    const local = await this.service.next();
    await local.head();
    return [visitor, local];
  }

  /** A visitor who has sent a request, and the local connection on which it arrived. */
  async visit(request: Omit<Request, 'host'> = {}): Promise<[RawConnection, LocalConnection]> {
    return await this.send(formatRequest({ host: this.host, ...request }));
  }
}

/**
 * Accounts and their tunnels on the relay under attack: tenants, an attacker with many tunnels, and honest neighbours,
 * whose tunnel only responds to its own visitors.
 */
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount } from '../../support/accounts.ts';
import { giveTunnels } from '../../support/database.ts';
import { Culvert, type Environment, Relay } from '../../support/programs.ts';
import type { RawConnection, Request, Response } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { type Front, straight } from './fronts.ts';
import type { Faults } from './attack.ts';

export type AttackedRelay = Awaited<ReturnType<typeof startAttackedRelay>>;

interface AttackedRelayOptions {
  /** number of tunnels, each for one attack at a time */
  readonly count: number;
  /** prefix of their names */
  readonly name: string;
  readonly settings?: Environment;
}

export async function startAttackedRelay(scope: Scope, { count, name, settings = {} }: AttackedRelayOptions) {
  const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
  const relay = await Relay.start(scope, { ...settings, CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN });
  const attacker = await createAccount(relay, { plan: 'team' });
  const given = Array.from({ length: count }, (_, index) => ({ slug: `${name}-${index}`, localPort: 9 }));
  await giveTunnels(scope, relay, attacker, given);
  const tunnels = await attacker.api.list();
  return {
    relay,
    front: straight(relay.port),
    attacker,
    /** @throws Error if there are not that many */
    tunnel(index: number): Tunnel {
      const tunnel = tunnels[index];
      if (tunnel === undefined) throw new Error(`there is no tunnel ${index}`);
      return tunnel;
    },
  };
}

/** Statuses with which a proxy or the relay itself reports that there is no response. */
const UNSERVED = new Set([502, 503, 504]);

export type Honest = Awaited<ReturnType<typeof startHonest>>;

/** A tunnel whose service responds with the requested path. */
export async function startHonest(scope: Scope, relay: Relay) {
  const account = await createAccount(relay);
  const { port } = await startHttpService(scope, (request, response) => {
    response.setHeader('Honest', request.url ?? '');
    response.end(`honest ${request.url}`);
  });
  const address = { url: `http://127.0.0.1:${relay.port}` };
  const { tunnel } = await Culvert.start(scope, address, account.key, port);
  return { account, tunnel, host: `${tunnel.slug}.${SHIPPED.tunnelDomain}` };
}

/** A request, and a function that returns the problem with its response, if any. */
type Question = readonly [Request, (response: Response) => string | undefined];

/**
 * Sends requests to the tunnel, and to the API with and without a key, in turn, over one connection as long as it
 * lasts.
 */
export class HonestVisitor {
  /** whole responses that were its own */
  served = 0;
  readonly #honest: Honest;
  readonly #front: Front;
  readonly #faults: Faults;
  readonly #scope: Scope;
  #connection: { readonly raw: RawConnection; readonly scope: Scope } | undefined;
  #asked = 0;

  /** @param faults gets `strayed` for another visitor's response, `unserved` for none */
  constructor(scope: Scope, honest: Honest, front: Front, faults: Faults) {
    this.#scope = scope;
    this.#honest = honest;
    this.#front = front;
    this.#faults = faults;
  }

  /** @param after the preceding action, for the report */
  async ask(after: string): Promise<void> {
    const [request, look] = this.#question();
    try {
      const response = await this.#request(request);
      const problem = look(response);
      if (problem === undefined) this.served += 1;
      else this.#faults.add(UNSERVED.has(response.status) ? 'unserved' : 'strayed', `${after}: ${problem}`);
    } catch (error) {
      // Bytes that cannot be parsed as a response are the end or the middle of another one.
      const isAnothers = /not a (?:status line|field)|chunk (?:size|ends)|\b[mas]\d{6}\b/.test(String(error));
      this.#faults.add(isAnothers ? 'strayed' : 'unserved', `${after}: ${String(error)}`);
      await this.#leave();
    }
  }

  #question(): Question {
    const { host, account } = this.#honest;
    this.#asked += 1;
    if (this.#asked % 3 === 1) return apiQuestion('/v1/account', 200, `"${account.id}"`, account.key);
    if (this.#asked % 3 === 2) return apiQuestion('/v1/tunnels', 401, 'missing api key');
    const token = `/honest/${this.#front.name}/${Math.random()}`;
    return [{ host, target: token }, (response) => tunnelProblem(response, token)];
  }

  async #request(request: Request): Promise<Response> {
    const { raw } = (this.#connection ??= await this.#open());
    const response = await raw.request(request);
    if (response.head.field('connection')?.toLowerCase() === 'close') await this.#leave();
    return response;
  }

  async #open(): Promise<{ raw: RawConnection; scope: Scope }> {
    const scope = new Scope();
    this.#scope.defer(() => scope.end());
    return { raw: await this.#front.open(scope, { from: '127.0.0.3' }), scope };
  }

  async #leave(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.scope.end();
  }
}

function apiQuestion(target: string, expected: number, part: string, key?: string): Question {
  const headers = key === undefined ? [] : ([['Authorization', `Bearer ${key}`]] as const);
  const problem = ({ status, text }: Response): string | undefined =>
    status === expected && text.includes(part)
      ? undefined
      : `${target}, ${key === undefined ? 'without' : 'with'} a key, was answered ${status} ${text.slice(0, 200)}`;
  return [{ host: SHIPPED.relayHost, target, headers }, problem];
}

function tunnelProblem({ status, head, text }: Response, token: string): string | undefined {
  const isOwn = status === 200 && text === `honest ${token}` && head.field('honest') === token;
  return isOwn ? undefined : `${token} was answered ${status} ${text.slice(0, 200)}`;
}

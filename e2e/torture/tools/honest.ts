/**
 * Honest neighbours of an attacker: a tunnel whose responses only its own visitors may get, and an account that calls
 * the API.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { Culvert, type Relay } from '../../support/programs.ts';
import type { RawConnection, Request, Response } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import type { Front } from './fronts.ts';

/** ms between two requests of a visitor that keeps sending them. */
const BREATH_MS = 50;
/** Statuses with which a proxy or the relay itself reports that there is no response. */
const UNSERVED = new Set([502, 503, 504]);

export interface Honest {
  readonly account: TestAccount;
  readonly tunnel: Tunnel;
  /** of the tunnel */
  readonly host: string;
}

/** A tunnel whose service responds with the requested path. */
export async function startHonest(scope: Scope, relay: Relay): Promise<Honest> {
  const account = await createAccount(relay);
  const { port } = await startHttpService(scope, (request, response) => {
    response.setHeader('Honest', request.url ?? '');
    response.end(`honest ${request.url}`);
  });
  const address = { url: `http://127.0.0.1:${relay.port}` };
  const { tunnel } = await Culvert.start(scope, address, account.key, port);
  return { account, tunnel, host: `${tunnel.slug}.${SHIPPED.tunnelDomain}` };
}

interface Question {
  readonly request: Request;
  /** the problem with a response, if any */
  readonly problem: (response: Response) => string | undefined;
}

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
  readonly #questions: readonly [() => Question, ...(() => Question)[]] = [
    () => this.#askTunnel(),
    () => this.#askApi(),
    () => this.#askWithoutKey(),
  ];

  /** @param faults gets `strayed` for another visitor's response, `unserved` for none */
  constructor(scope: Scope, honest: Honest, front: Front, faults: Faults) {
    this.#scope = scope;
    this.#honest = honest;
    this.#front = front;
    this.#faults = faults;
  }

  /** @param after the preceding action, for the report */
  async ask(after: string): Promise<void> {
    this.#asked += 1;
    const question = this.#questions[this.#asked % this.#questions.length] ?? this.#questions[0];
    try {
      const { request, problem: look } = question();
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

  /** Sends requests repeatedly until the scope ends. */
  async keepAsking(scope: Scope, after: string): Promise<void> {
    const stopped = new AbortController();
    scope.defer(() => stopped.abort());
    while (!stopped.signal.aborted) {
      await this.ask(after);
      await delay(BREATH_MS);
    }
  }

  #askTunnel(): Question {
    const token = `/honest/${this.#front.name}/${Math.random()}`;
    return {
      request: { host: this.#honest.host, target: token },
      problem: (response) => tunnelProblem(response, token),
    };
  }

  #askApi(): Question {
    const headers = [['Authorization', `Bearer ${this.#honest.account.key}`]] as const;
    return {
      request: { host: SHIPPED.relayHost, target: '/v1/account', headers },
      problem: ({ status, text }) =>
        status === 200 && text.includes(`"${this.#honest.account.id}"`)
          ? undefined
          : `the API answered ${status} ${text.slice(0, 200)}`,
    };
  }

  #askWithoutKey(): Question {
    return {
      request: { host: SHIPPED.relayHost, target: '/v1/tunnels' },
      problem: ({ status, text }) =>
        status === 401 && text.includes('missing api key')
          ? undefined
          : `without a key, the API answered ${status} ${text.slice(0, 200)}`,
    };
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

function tunnelProblem({ status, head, text }: Response, token: string): string | undefined {
  const isOwn = status === 200 && text === `honest ${token}` && head.field('honest') === token;
  return isOwn ? undefined : `${token} was answered ${status} ${text.slice(0, 200)}`;
}

/** Failures of a row, counted by figure. The first few are kept in words. */

const KEPT = 5;
const MAX_CHARS = 2000;

export class Faults {
  readonly #counts = new Map<string, number>();
  readonly #first: string[] = [];

  add(figure: string, what: string): void {
    const count = this.#counts.get(figure) ?? 0;
    this.#counts.set(figure, count + 1);
    // For each figure the first few are kept.
    if (count < KEPT) this.#first.push(`${figure}: ${what}`.slice(0, MAX_CHARS));
  }

  get first(): readonly string[] {
    return this.#first;
  }

  /** The counts of these figures. */
  counts<Name extends string>(...names: readonly Name[]): Record<Name, number> {
    return Object.fromEntries(names.map((name) => [name, this.#counts.get(name) ?? 0])) as Record<
      Name,
      number
    >;
  }
}

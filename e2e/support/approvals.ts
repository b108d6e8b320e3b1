import assert from 'node:assert/strict';
import type { KnockMessage } from '../../shared/control.ts';
import type { Knock } from '../../shared/knocks.ts';
import { Api, type ApiResponse } from './api.ts';
import { eventually } from './deadline.ts';
import { type Field, type Response, visit } from './raw-http.ts';
import type { Scope } from './scope.ts';
import { bridge, ControlSocket, openData } from './spec-client/client.ts';

export const BROWSER: Field = ['Accept', 'text/html,application/xhtml+xml,*/*;q=0.8'];

/** The address of a tunnel. */
export interface Place {
  readonly port: number;
  readonly host: string;
  /** `/t/{slug}` in the path form, otherwise empty */
  readonly prefix?: string;
}

/** The parts of a request to a tunnel. */
export interface Asked {
  readonly method?: string;
  /** path below the tunnel's address */
  readonly path?: string;
  readonly headers?: readonly Field[];
  readonly body?: string;
}

/** The `Cookie` field for further requests of the visitor who got this response. */
export function cookieOf({ head }: Response): Field {
  return ['Cookie', head.field('set-cookie')?.split(';', 1)[0] ?? assert.fail('there is no cookie')];
}

/** Sends a request to a tunnel. */
export async function ask(
  { port, host, prefix = '' }: Place,
  { path = '/', ...rest }: Asked = {},
): Promise<Response> {
  return await visit(port, { host, target: prefix + path, ...rest });
}

/** Asks for approval as a program does. */
export async function knock(place: Place, headers: readonly Field[] = [], path = '/'): Promise<Response> {
  const target = `${path}${path.includes('?') ? '&' : '?'}culvert_gate=knock`;
  return await ask(place, { method: 'POST', path: target, headers, body: '' });
}

/** Asks for approval and asserts that the relay accepts it. @returns the cookie */
export async function mustKnock(place: Place, headers: readonly Field[] = []): Promise<Field> {
  const response = await knock(place, headers);
  assert.equal(response.status, 202, response.text);
  return cookieOf(response);
}

/** The owner of a tunnel, with a control socket that receives approval requests. */
export class KnockOwner {
  readonly control: ControlSocket;
  readonly #api: Api;
  readonly #id: string;

  private constructor(control: ControlSocket, api: Api, id: string) {
    this.control = control;
    this.#api = api;
    this.#id = id;
  }

  /** @param answersAt the relay that the decisions are sent to */
  static async open(
    scope: Scope,
    relay: { readonly port: number },
    key: string,
    id: string,
    answersAt = relay,
  ): Promise<KnockOwner> {
    const control = await ControlSocket.open(scope, relay, key, id, '&events=1');
    return new KnockOwner(control, new Api(answersAt, key), id);
  }

  /** Serves visitors from a port of this machine, over data sockets. */
  serve(scope: Scope, relay: { readonly port: number }, port: number): void {
    this.control.onMessage = ({ type, id }) => {
      if (type !== 'connection') return;
      void openData(scope, relay, id).then(
        (data) => bridge(data, port),
        () => {},
      );
    };
  }

  /** Every approval request that the owner has received. */
  get heard(): KnockMessage[] {
    return this.control.messages.filter(({ type }) => type === 'knock') as unknown as KnockMessage[];
  }

  /** The approval request with that number, from 0. */
  async hears(number = 0): Promise<KnockMessage> {
    await eventually(20_000, () => assert.ok(this.heard.length > number));
    return this.heard[number] ?? assert.fail('there is none');
  }

  async send(id: string, answer: unknown): Promise<ApiResponse> {
    return await this.#api.send('PUT', `/v1/tunnels/${this.#id}/knocks/${id}`, { json: answer });
  }

  /** Approves or denies, which must succeed. */
  async answer(id: string, admit: boolean, duration?: string): Promise<Knock> {
    const { status, json } = await this.send(id, { admit, ...(duration !== undefined && { for: duration }) });
    assert.equal(status, 200, JSON.stringify(json));
    return json as Knock;
  }

  async list(): Promise<Knock[]> {
    const { status, json } = await this.#api.send('GET', `/v1/tunnels/${this.#id}/knocks`);
    assert.equal(status, 200, JSON.stringify(json));
    return (json as { knocks: Knock[] }).knocks;
  }
}

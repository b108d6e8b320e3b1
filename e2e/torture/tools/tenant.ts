/** An account on the relay under torture, with a tunnel that `culvert` serves. */
import type { Plan, Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, type Environment, type Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

export interface Tenant {
  readonly account: TestAccount;
  readonly culvert: Culvert;
  readonly tunnel: Tunnel;
  /** the `Host` of its visitors */
  readonly host: string;
}

export interface TenantOptions {
  /** by default the one without limits, so that only the relay's own limits protect others */
  readonly plan?: Plan;
  /** environment of its client */
  readonly environment?: Environment;
  /** where its client finds the relay; the relay's own address by default */
  readonly by?: { readonly url: string };
}

/** @param servicePort the port to which its tunnel forwards */
export async function startTenant(
  scope: Scope,
  relay: Relay,
  servicePort: number,
  { plan = 'team', environment = {}, by = relay }: TenantOptions = {},
): Promise<Tenant> {
  const account = await createAccount(relay, { plan });
  const culvert = await Culvert.start(scope, by, account.key, servicePort, [], environment);
  return { account, culvert, tunnel: culvert.tunnel, host: hostOf(culvert.tunnel, relay) };
}

/** What a tenant can do to a relay with its key and its tunnel. */

export const ATTACKS = ['extends', 'creates', 'lists', 'hints', 'heads', 'readers'] as const;
export type Attack = (typeof ATTACKS)[number];

/** The target of requests, and the credentials. */
export interface Target {
  readonly port: number;
  readonly key: string;
  readonly tunnelId: string;
  /** host of the tunnel, which forwards to the service of this program */
  readonly host: string;
}

export type Order =
  | { readonly what: 'serve' }
  | { readonly what: 'attack'; readonly attack: Attack; readonly target: Target }
  | { readonly what: 'stop' };

/** The port of the service, or how many responses there were. */
export type Reply = number;

/** The request that it sends repeatedly. */
export function requestOf(attack: Attack, { port, key, tunnelId, host }: Target): string {
  const api = (line: string, body: string): string =>
    `${line} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  switch (attack) {
    case 'extends':
      return api(`PUT /v1/tunnels/${tunnelId}/extend`, '{"ttl":"1s"}');
    case 'creates':
      return api('POST /v1/tunnels', '{"local_port":1}');
    case 'lists':
      return api('GET /v1/tunnels', '');
    case 'heads':
      return `GET /heads HTTP/1.1\r\nHost: ${host}\r\n${crowdedFields(15_000, 190)}\r\n`;
    case 'hints':
    case 'readers':
      return `GET /${attack} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  }
}

/** Fields, and a `Connection` field that names thousands of others. */
export function crowdedFields(bytes: number, count: number): string {
  const fields = Array.from({ length: count }, (_, index) => `${index.toString(36)}:\r\n`).join('');
  const members = Array.from({ length: (bytes - fields.length) / 2 - 10 }, () => 'x').join();
  return `${fields}Connection: ${members}\r\n`;
}

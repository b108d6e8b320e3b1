/** The REST interface of a relay (protocol.md section 3), as far as the client uses it. */
import { type Access, OPEN } from '../../../shared/access.ts';
import { type Agent, AGENT_LIST } from '../../../shared/agents.ts';
import {
  CHECKED_DOMAIN,
  type CheckedDomain,
  DOMAIN,
  type Domain,
  DOMAIN_LIST,
} from '../../../shared/domains.ts';
import { API_ERRORS } from '../../../shared/errors.ts';
import { type Knock, KNOCK_LIST } from '../../../shared/knocks.ts';
import { type Link, LINK_LIST, type NewLink } from '../../../shared/links.ts';
import { KEPT_NAME, KEPT_NAME_LIST, type KeptName } from '../../../shared/names.ts';
import {
  NEW_TEAM_INVITES,
  type NewTeamInvites,
  TEAM,
  type Team,
  TEAM_AUDIT,
  type TeamAudit,
} from '../../../shared/team.ts';
import type { CreateTunnelBody } from '../../../shared/tunnel-requests.ts';
import { ACCOUNT, type Account, type Tunnel } from '../../../shared/tunnel.ts';
import { type Clock, pause, systemClock } from '../clock.ts';
import type { RawMode } from '../local/local-service.ts';
import { messageOf, type MessageValue, toMessage } from '../messages.ts';
import { call, type CallResponse, Network } from '../network/network.ts';
import {
  accessRequest,
  asksVisitorsFor,
  type LinkRequest,
  read,
  readNewLink,
  readTunnel,
  readTunnelList,
} from './api-responses.ts';
import {
  AccessUnsupported,
  describeRedirect,
  DomainUnsupported,
  ProtocolUnsupported,
  readRefusal,
  refusesKey,
  RelayRefusal,
  RelayUnreachable,
  unreachable,
} from './errors.ts';
import type { RelayAddress } from './relay-address.ts';
import { RelayClock } from './relay-clock.ts';

/** How long a REST call may take, including its response. A person is waiting for it. */
const API_TIMEOUT_MS = 10_000;
/**
 * Longest wait before a tunnel is requested again when the relay limits how many can be created: one is allowed
 * every 6 s (protocol.md section 3.2).
 */
const CREATE_RETRY_MS = 60_000;
/**
 * Number of times that a tunnel is requested again while the relay limits how many can be created. Others on the
 * account may use the creations that become free; after this many tries the error is shown.
 */
const CREATE_RETRIES_MAX = 10;
/** Maximum size of a REST response: the largest is a list of tunnels, at about 700 bytes each. */
export const API_BODY_MAX_BYTES = 4 * 1024 * 1024;

/** A create request (protocol.md section 3.2). */
export type CreateRequest = {
  readonly [Field in keyof CreateTunnelBody]: Field extends 'access'
    ? Access
    : NonNullable<CreateTunnelBody[Field]>;
};

/**
 * The create request for a tunnel that a user wants.
 *
 * @param wanted the relay chooses a name or ttl that is missing or empty
 */
export function createRequest(wanted: {
  readonly port: number;
  readonly name: string | undefined;
  readonly ttl: string | undefined;
  readonly idle: boolean;
  readonly access: Access;
  readonly domain?: string | undefined;
  readonly wildcard?: boolean | undefined;
  /** for a tunnel that carries bytes instead of HTTP */
  readonly raw?: RawMode | undefined;
}): CreateRequest {
  const { port, name = '', ttl = '', idle, access, domain = '', wildcard = false, raw } = wanted;
  return {
    local_port: port,
    ...(name === '' ? {} : { name }),
    ...(ttl === '' ? {} : { ttl }),
    idle_ttl: idle,
    access,
    ...(domain === '' ? {} : { domain }),
    ...(wildcard ? { wildcard } : {}),
    ...(raw === undefined ? {} : { protocol: raw.protocol }),
    ...(raw?.remotePort === undefined ? {} : { remote_port: raw.remotePort }),
  };
}

/**
 * Calls a relay. Every call takes at most {@link API_TIMEOUT_MS}, follows no redirect (a redirect must not take the key
 * elsewhere) and is made once, over a connection of its own: the caller decides whether to try again. Only a refusal of
 * the key is checked by a second call, because a client that believes it goes offline, and one forged response must not
 * cause that.
 *
 * All methods throw {@link RelayRefusal} for an error response of the relay, {@link RelayUnreachable} for everything
 * else.
 */
export class ApiClient {
  readonly #relay: RelayAddress;
  readonly #key: string;
  readonly #network: Network;
  readonly #clock = new RelayClock(systemClock);

  /** @param network the way to the relay; directly unless told otherwise */
  constructor(relay: RelayAddress, key: string, network: Network = new Network()) {
    this.#relay = relay;
    this.#key = key;
    this.#network = network;
  }

  /** ms since the epoch by the relay's clock. */
  now(): number {
    return this.#clock.now();
  }

  /** `GET /v1/account`: who owns the key, and what it may do. */
  async getAccount(): Promise<Account> {
    return read(ACCOUNT, await this.#call('GET', '/v1/account'));
  }

  /**
   * `POST /v1/tunnels`
   *
   * @throws AccessUnsupported if the relay cannot enforce the access policy; the tunnel is closed then
   */
  async createTunnel(request: CreateRequest): Promise<Tunnel> {
    const { access = OPEN, ...rest } = request;
    const asked = accessRequest(access);
    const body = Object.keys(asked).length === 0 ? rest : { ...rest, access: asked };
    const tunnel = readTunnel(await this.#call('POST', '/v1/tunnels', body));
    const { local_port, name = tunnel.name, protocol = 'http' } = request;
    responseTo(tunnel, tunnel.local_port === local_port && tunnel.name === name);
    if (tunnel.protocol !== protocol)
      throw new ProtocolUnsupported(protocol, await this.#closeUnserved(tunnel));
    if (!asksVisitorsFor(access, tunnel.access))
      throw new AccessUnsupported(await this.#closeUnserved(tunnel));
    return tunnel;
  }

  /** @returns whether the tunnel was closed, as a sentence without its full stop */
  async #closeUnserved({ id }: Tunnel): Promise<MessageValue> {
    try {
      await this.closeTunnel(id);
      return toMessage('relay.closedAtOnce');
    } catch (error) {
      return toMessage('relay.notClosed', { why: messageOf(error) });
    }
  }

  /** `GET /v1/tunnels`: the live tunnels of the key's account, newest first. */
  async listTunnels(): Promise<Tunnel[]> {
    return readTunnelList(await this.#call('GET', '/v1/tunnels'));
  }

  /** `GET /v1/tunnels/{id}` */
  async getTunnel(id: string): Promise<Tunnel> {
    const tunnel = readTunnel(await this.#call('GET', tunnelPath(id)));
    return responseTo(tunnel, tunnel.id === id);
  }

  /** `DELETE /v1/tunnels/{id}` */
  async closeTunnel(id: string, timeoutMs = API_TIMEOUT_MS): Promise<void> {
    await this.#call('DELETE', tunnelPath(id), undefined, timeoutMs);
  }

  /**
   * `PUT /v1/tunnels/{id}/extend`
   *
   * @param ttl duration string; without it the tunnel's own `ttl` is added
   */
  async extendTunnel(id: string, ttl?: string): Promise<Tunnel> {
    const body = ttl === undefined ? {} : { ttl };
    const tunnel = readTunnel(await this.#call('PUT', `${tunnelPath(id)}/extend`, body));
    return responseTo(tunnel, tunnel.id === id);
  }

  /**
   * `PUT /v1/tunnels/{id}/access`
   *
   * @param access replaces the previous access policy
   * @throws AccessUnsupported if the relay cannot enforce this access policy
   */
  async setAccess(id: string, access: Access): Promise<Tunnel> {
    const body = accessRequest(access);
    const tunnel = readTunnel(await this.#call('PUT', `${tunnelPath(id)}/access`, body));
    responseTo(tunnel, tunnel.id === id);
    if (asksVisitorsFor(access, tunnel.access)) return tunnel;
    throw new AccessUnsupported(toMessage('relay.leftOut'));
  }

  /** `POST /v1/tunnels/{id}/links` */
  async createLink(id: string, request: LinkRequest): Promise<NewLink> {
    const made = readNewLink(await this.#call('POST', `${tunnelPath(id)}/links`, request), request.path);
    if (request.once !== true || made.once === true) return made;
    await this.deleteLink(id, made.id);
    throw new RelayUnreachable(toMessage('relay.noOnce'));
  }

  /** `GET /v1/tunnels/{id}/links`: the valid ones. */
  async listLinks(id: string): Promise<Link[]> {
    return read(LINK_LIST, await this.#call('GET', `${tunnelPath(id)}/links`)).links;
  }

  /** `DELETE /v1/tunnels/{id}/links/{link_id}`: revokes the link and the access that it gave. */
  async deleteLink(id: string, linkId: string): Promise<void> {
    await this.#call('DELETE', `${tunnelPath(id)}/links/${encodeURIComponent(linkId)}`);
  }

  /** `GET /v1/tunnels/{id}/knocks`: visitors who wait, were approved, or were recently denied. */
  async listKnocks(id: string): Promise<Knock[]> {
    return read(KNOCK_LIST, await this.#call('GET', `${tunnelPath(id)}/knocks`)).knocks;
  }

  /**
   * `PUT /v1/tunnels/{id}/knocks/{knock_id}`: approves or denies a visitor; an approval can be revoked.
   *
   * @param duration of the approval, a duration string; the relay chooses without it
   */
  async answerKnock(id: string, knockId: string, admit: boolean, duration?: string): Promise<void> {
    const body = { admit, ...(duration === undefined ? {} : { for: duration }) };
    await this.#call('PUT', `${tunnelPath(id)}/knocks/${encodeURIComponent(knockId)}`, body);
  }

  /** `GET /v1/tunnels/{id}/agents`: agents that were admitted by OAuth. */
  async listAgents(id: string): Promise<readonly Agent[]> {
    return read(AGENT_LIST, await this.#call('GET', `${tunnelPath(id)}/agents`)).agents;
  }

  /** `DELETE /v1/tunnels/{id}/agents/{agent_id}`: ends its access, and what it has open. */
  async revokeAgent(id: string, agentId: string): Promise<void> {
    await this.#call('DELETE', `${tunnelPath(id)}/agents/${encodeURIComponent(agentId)}`);
  }

  /** `GET /v1/domains`: the domains of the key's account, oldest first. */
  async listDomains(): Promise<Domain[]> {
    return read(DOMAIN_LIST, await this.#callForDomains('GET', '/v1/domains')).domains;
  }

  /** `POST /v1/domains`: claims a domain, or returns the claim that the account has. */
  async addDomain(domain: string): Promise<Domain> {
    return read(DOMAIN, await this.#callForDomains('POST', '/v1/domains', { domain }));
  }

  /** `POST /v1/domains/{id}/verify`: has the relay look at its records. */
  async verifyDomain(id: string): Promise<CheckedDomain> {
    return read(CHECKED_DOMAIN, await this.#callForDomains('POST', `${domainPath(id)}/verify`));
  }

  /** `DELETE /v1/domains/{id}`: ends the claim and the tunnel that has the domain. */
  async removeDomain(id: string): Promise<void> {
    await this.#callForDomains('DELETE', domainPath(id));
  }

  /** `POST /v1/names`: keeps a name, or returns it if the account keeps it already. */
  async keepName(name: string): Promise<KeptName> {
    return read(KEPT_NAME, await this.#call('POST', '/v1/names', { name }));
  }

  /** `GET /v1/names`: the names that the account keeps, oldest first. */
  async listNames(): Promise<KeptName[]> {
    return read(KEPT_NAME_LIST, await this.#call('GET', '/v1/names')).names;
  }

  /** `PUT /v1/names/{name}`: what visitors read while no client serves the name; what is left out stays. */
  async changeName(
    name: string,
    changes: { readonly away?: string | null; readonly until?: string | null },
  ): Promise<KeptName> {
    return read(KEPT_NAME, await this.#call('PUT', namePath(name), changes));
  }

  /** `DELETE /v1/names/{name}` */
  async releaseName(name: string): Promise<void> {
    await this.#call('DELETE', namePath(name));
  }

  /** `GET /v1/team`: keys and open invitations of the account, with an owner's key. */
  async listTeam(): Promise<Team> {
    return read(TEAM, await this.#call('GET', '/v1/team'));
  }

  /**
   * `POST /v1/team/invites`
   *
   * @param labels whom to invite
   * @param ttl how long the invitations are valid, a duration string; the relay chooses without it
   */
  async inviteToTeam(labels: readonly string[], ttl?: string): Promise<NewTeamInvites> {
    const body = { labels, ...(ttl === undefined ? {} : { ttl }) };
    return read(NEW_TEAM_INVITES, await this.#call('POST', '/v1/team/invites', body));
  }

  /** `DELETE /v1/team/{id}`: revokes a key or an invitation. */
  async revokeFromTeam(id: string): Promise<void> {
    await this.#call('DELETE', `/v1/team/${encodeURIComponent(id)}`);
  }

  /** `GET /v1/team/audit`: what the account's people have done. */
  async teamAudit(): Promise<TeamAudit> {
    return read(TEAM_AUDIT, await this.#call('GET', '/v1/team/audit'));
  }

  /** @throws DomainUnsupported if the relay has no such path */
  async #callForDomains(method: string, path: string, body?: unknown): Promise<unknown> {
    try {
      return await this.#call(method, path, body);
    } catch (error) {
      const isMissing = error instanceof RelayRefusal && error.is(API_ERRORS.notFound);
      throw isMissing ? new DomainUnsupported() : error;
    }
  }

  async #call(method: string, path: string, body?: unknown, timeoutMs?: number): Promise<unknown> {
    const response = await this.#send({ method, path, body, timeoutMs });
    if (response.status < 200 || response.status > 299) throw await this.#refusal(response);
    return jsonOf(response, this.#relay);
  }

  async #send(wanted: JsonCall): Promise<CallResponse> {
    const response = await callJson(this.#network, this.#relay, wanted, this.#key);
    this.#clock.set(response.headers.date);
    return response;
  }

  async #refusal(response: CallResponse): Promise<RelayRefusal> {
    const { status, headers, text } = response;
    const redirect = describeRedirect(response, this.#relay);
    if (redirect !== undefined) return new RelayRefusal(status, redirect);
    const refusal = readRefusal(status, headers, text, Date.now());
    if (!refusesKey(refusal) || (await this.#isKeyRefused())) return refusal;
    return new RelayRefusal(status, toMessage('relay.refusedOnce'), { isOwn: false });
  }

  /** Sends a request that every relay supports (protocol.md section 3.1). */
  async #isKeyRefused(): Promise<boolean> {
    const { status, headers, text } = await this.#send({ method: 'GET', path: '/v1/tunnels' });
    return refusesKey(readRefusal(status, headers, text, Date.now()));
  }
}

interface JsonCall {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs?: number | undefined;
}

/** Calls a relay. @throws RelayUnreachable */
export async function callJson(
  network: Network,
  relay: RelayAddress,
  { method, path, body, timeoutMs = API_TIMEOUT_MS }: JsonCall,
  key?: string,
): Promise<CallResponse> {
  try {
    return await call(network, relay, {
      method,
      path,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      maxBytes: API_BODY_MAX_BYTES,
      timeoutMs,
    });
  } catch (error) {
    throw await unreachable(error, network, relay);
  }
}

/** @throws RelayUnreachable */
export function jsonOf({ text }: CallResponse, { origin }: RelayAddress): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RelayUnreachable(toMessage('relay.notRelay', { origin }));
  }
}

/** A proxy that mixes up its connections returns responses to other people's requests. */
function responseTo(tunnel: Tunnel, isAsked: boolean): Tunnel {
  if (isAsked) return tunnel;
  throw new RelayUnreachable(toMessage('relay.otherRequest'));
}

function namePath(name: string): string {
  return `/v1/names/${encodeURIComponent(name)}`;
}

function domainPath(id: string): string {
  return `/v1/domains/${encodeURIComponent(id)}`;
}

function tunnelPath(id: string): string {
  return `/v1/tunnels/${encodeURIComponent(id)}`;
}

export interface CreateTiming {
  readonly clock: Clock;
  readonly interrupted: AbortSignal;
  /** called with the ms until the next try */
  readonly onWait?: ((ms: number) => void) | undefined;
}

/**
 * Creates a tunnel. If the relay says that this is too fast, waits as long as it asks for, up to
 * {@link CREATE_RETRY_MS}, and tries again, up to {@link CREATE_RETRIES_MAX} times (protocol.md section 3.2).
 *
 * @throws what {@link ApiClient.createTunnel} throws, or the reason of the interruption
 */
export async function createPatiently(
  api: Pick<ApiClient, 'createTunnel'>,
  request: CreateRequest,
  { clock, interrupted, onWait }: CreateTiming,
): Promise<Tunnel> {
  for (let tries = 1; ; tries += 1) {
    interrupted.throwIfAborted();
    try {
      return await api.createTunnel(request);
    } catch (error) {
      const isLimited = error instanceof RelayRefusal && error.status === 429;
      if (!isLimited) throw error;
      const { retryAfterMs } = error;
      if (tries > CREATE_RETRIES_MAX)
        throw new RelayRefusal(429, toMessage('relay.createLimit'), { retryAfterMs });
      const ms = Math.min(retryAfterMs ?? CREATE_RETRY_MS, CREATE_RETRY_MS);
      onWait?.(ms);
      await pause(clock, ms, interrupted);
    }
  }
}

/** Routes of tunnels (protocol.md section 3). */
import { type Access, readAccess } from '../../shared/access.ts';
import { type Agent, AGENT_LIST } from '../../shared/agents.ts';
import { formatDuration } from '../../shared/duration.ts';
import { KNOCK, type Knock, KNOCK_ANSWER_SCHEMA, KNOCK_LIST, readKnockAnswer } from '../../shared/knocks.ts';
import {
  CREATE_LINK,
  type Link,
  LINK_LIST,
  LINK_PARAMETER,
  NEW_LINK,
  type NewLink,
  readCreateLink,
} from '../../shared/links.ts';
import {
  ACCESS_SCHEMA,
  createTunnelBody,
  extendTunnelBody,
  readExtendTunnel,
} from '../../shared/tunnel-requests.ts';
import { TUNNEL, type Tunnel, TUNNEL_LIST } from '../../shared/tunnel.ts';
import { timestamp, timestampOr } from '../administration/views.ts';
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { type PreparedAccess, withMadeTokens } from '../access/access-policy.ts';
import { endOf, stateOf } from '../access/approval-requests.ts';
import { signedInOf } from '../access/people.ts';
import { ttlLimitsOf } from '../accounts/accounts.ts';
import { maxTtlOf, reachesTunnel } from '../accounts/api-keys.ts';
import { type AgentRecord, batches, type LinkRecord, type StoredKnock } from '../store/records.ts';
import { LINKS_MAX, type MadeLink, REVOKED_LINKS_MAX } from '../tunnels/links-and-approvals.ts';
import { type Addresses, type LiveTunnel, tunnelUrls } from '../tunnels/live-tunnel.ts';
import {
  allowName,
  type ApiContext,
  type ApiMiddleware,
  authenticate,
  boundAgent,
  hashPasswords,
  limitRate,
  limitTunnels,
  lookAgainAfter,
  readCreate,
  requireAccess,
  requireProvider,
  suitProtocol,
  TUNNEL_SCOPES,
} from './guards.ts';
import { type ApiDeps, idOf, partOf, type Route, statusOf } from './route.ts';
import { CREATES_PER_MINUTE, CREATE_BURST } from './scheduler.ts';

/**
 * Number of tunnels in a list response that are serialized before other work gets a turn: this takes about as
 * long as another request.
 */
export const LIST_BATCH = 50;

/**
 * @param online ids of the tunnels whose client is connected
 * @returns the tunnel object
 */
function viewTunnel(tunnel: LiveTunnel, addresses: Addresses, online: ReadonlySet<string>): Tunnel {
  const { totals } = tunnel;
  return {
    id: tunnel.id,
    slug: tunnel.slug,
    client_id: tunnel.account.id,
    local_port: tunnel.terms.localPort,
    name: tunnel.name,
    ttl: formatDuration(tunnel.terms.ttl),
    protocol: tunnel.protocol,
    mode: 'relay',
    created_at: timestamp(tunnel.createdAt),
    expires_at: timestamp(tunnel.expiresAt),
    idle_ttl: tunnel.terms.idle,
    bytes_in: totals.bytesIn,
    bytes_out: totals.bytesOut,
    requests: totals.requests,
    created_by: tunnel.terms.createdBy,
    online: online.has(tunnel.id),
    access: tunnel.access?.view(tunnel.tokenUses.times) ?? {},
    wildcard: tunnel.terms.wildcard,
    ...tunnelUrls(tunnel, addresses),
  };
}

function accessOf(ctx: ApiContext): Access {
  return readAccess(ctx.request.body);
}

const CLOSED = statusOf('closed', 'Closed');

export function tunnelRoutes(deps: ApiDeps): Route[] {
  const { authenticator, tunnels, clients, creates, turns, writes, hashes, signIn, ttl, addresses, clock } =
    deps;
  const tunnelKey = authenticate(authenticator, TUNNEL_SCOPES);

  /** Hashes passwords; the key is checked again afterwards. */
  function hash(read: (ctx: ApiContext) => Access): ApiMiddleware {
    return lookAgainAfter(hashPasswords(hashes, read), tunnelKey, clock);
  }

  async function view(tunnel: LiveTunnel): Promise<Tunnel> {
    return viewTunnel(tunnel, addresses, await clients.online([tunnel]));
  }

  /** For the owner who has just set its access policy. */
  async function viewSet(tunnel: LiveTunnel, { made }: PreparedAccess): Promise<Tunnel> {
    const shown = await view(tunnel);
    return { ...shown, access: withMadeTokens(shown.access, tunnel.access?.stored, made) };
  }

  async function create(ctx: ApiContext): Promise<Tunnel> {
    const { account, access, caller } = ctx.state;
    const wanted = { ...ctx.state.wanted, access, caller };
    const meant = tunnels.findExisting(account, wanted);
    if (meant !== undefined && (await writes.run(account.id, () => tunnels.takeOver(meant, wanted))))
      return await viewSet(meant, access);
    const tunnel = await writes.run(account.id, () => tunnels.create(account, wanted));
    ctx.status = 201;
    ctx.set('Location', `/v1/tunnels/${tunnel.id}`);
    return await viewSet(tunnel, access);
  }

  async function list(ctx: ApiContext): Promise<string> {
    const { account, caller } = ctx.state;
    await tunnels.coordination.followAccount(account);
    const parts: string[] = [];
    const shown = tunnels.list(account).filter((tunnel) => reachesTunnel(caller, tunnel));
    for (const batch of batches(shown, LIST_BATCH)) {
      // A thousand of them occupy the event loop for as long as some ten requests.
      if (parts.length > 0) await turns.next(account.id);
      const online = await clients.online(batch);
      for (const tunnel of batch) parts.push(JSON.stringify(viewTunnel(tunnel, addresses, online)));
    }
    ctx.type = 'json';
    return `{"tunnels":[${parts.join(',')}]}`;
  }

  return [
    {
      call: 'post /v1/tunnels',
      id: 'createTunnel',
      tag: 'Tunnels',
      summary: 'Create a tunnel',
      description: `Each account can create at most ${CREATES_PER_MINUTE} tunnels per minute, with bursts of up to ${CREATE_BURST}. On the Team plan, this limit applies to each key instead.`,
      caller: 'tunnelKey',
      body: { schema: createTunnelBody(ttl).schema, required: true },
      results: {
        200: [
          'The tunnel of that name that the account had already, with `take_over`: its `local_port`, `ttl`, `idle_ttl`, `wildcard` and `access` ' +
            'are those of this request, `expires_at` is now plus `ttl`; its id, addresses and counters stay.',
          TUNNEL.schema,
        ],
        201: ['The tunnel.', TUNNEL.schema, 'Location'],
      },
      errors: [
        'invalidPort',
        'invalidName',
        'invalidTtl',
        'ttlTooLong',
        'invalidAccess',
        'invalidDomain',
        'invalidRemotePort',
        'notForProtocol',
        'planTooLow',
        'planTooLowForWildcard',
        'agentName',
        'agentAccess',
        'agentHosts',
        'agentIdle',
        'tooManyTunnels',
        'domainNotFound',
        'domainNotVerified',
        'nameTaken',
        'nameReserved',
        'domainInUse',
        'domainFixed',
        'protocolFixed',
        'protocolUnavailable',
        'portTaken',
        'rateLimited',
      ],
      guards: [
        readCreate(ttl),
        allowName(),
        boundAgent(),
        requireAccess((ctx) => ctx.state.wanted.access),
        requireProvider(signIn, (ctx) => ctx.state.wanted.access),
        limitTunnels(tunnels),
        limitRate(creates),
        hash((ctx) => ctx.state.wanted.access),
      ],
      handle: create,
    },
    {
      call: 'get /v1/tunnels',
      id: 'listTunnels',
      tag: 'Tunnels',
      summary: "List the account's live tunnels",
      caller: 'tunnelKey',
      results: { 200: ['The tunnels.', TUNNEL_LIST.schema] },
      handle: list,
    },
    {
      call: 'get /v1/tunnels/{id}',
      id: 'getTunnel',
      tag: 'Tunnels',
      summary: 'Get a tunnel',
      caller: 'tunnelOwner',
      results: { 200: ['The tunnel.', TUNNEL.schema] },
      async handle(ctx) {
        await tunnels.coordination.followTunnel(idOf(ctx));
        return await view(tunnels.get(ctx.state.account, idOf(ctx)));
      },
    },
    {
      call: 'delete /v1/tunnels/{id}',
      id: 'closeTunnel',
      tag: 'Tunnels',
      summary: 'Close a tunnel',
      description: 'Disconnects its visitors and frees its name.',
      caller: 'tunnelOwner',
      results: { 200: ['The tunnel was closed.', CLOSED.schema] },
      async handle(ctx) {
        const { account, caller } = ctx.state;
        await writes.run(account.id, () => tunnels.close(account, idOf(ctx), caller));
        return CLOSED.body;
      },
    },
    {
      call: 'put /v1/tunnels/{id}/extend',
      id: 'extendTunnel',
      tag: 'Tunnels',
      summary: 'Extend a tunnel',
      description:
        'Adds `ttl` to `expires_at`. The new expiry cannot be further away than the maximum time to live.',
      caller: 'tunnelOwner',
      body: { schema: extendTunnelBody(ttl).schema, required: false },
      results: { 200: ['The tunnel, with its `ttl` unchanged.', TUNNEL.schema] },
      errors: ['invalidTtl', 'ttlTooLong', 'rateLimited'],
      async handle(ctx) {
        const { account, caller } = ctx.state;
        const by = readExtendTunnel(ctx.request.body, ttlLimitsOf(account.plan, ttl, caller.scope));
        return await view(await writes.run(account.id, () => tunnels.extend(account, idOf(ctx), by, caller)));
      },
    },
    {
      call: 'put /v1/tunnels/{id}/access',
      id: 'setTunnelAccess',
      tag: 'Access',
      summary: "Replace a tunnel's access policy",
      description:
        '`{}` makes the tunnel public. The change applies to new requests within a second. WebSockets and event streams that are no longer ' +
        'allowed are closed, other responses have 30 s to finish, and all access cookies become invalid. Tokens without `token` stay as they ' +
        'are; those that are left out are revoked, which closes everything that was opened with them.',
      caller: 'tunnelOwner',
      body: { schema: ACCESS_SCHEMA, required: true },
      results: { 200: ['The tunnel.', TUNNEL.schema] },
      errors: ['invalidAccess', 'notForProtocol', 'agentAccess', 'rateLimited'],
      guards: [
        suitProtocol(tunnels, accessOf),
        requireAccess(accessOf),
        requireProvider(signIn, accessOf),
        hash(accessOf),
      ],
      async handle(ctx) {
        const { account, access, caller } = ctx.state;
        const tunnel = await writes.run(account.id, () =>
          tunnels.setAccess(account, idOf(ctx), access, caller),
        );
        return await viewSet(tunnel, access);
      },
    },
  ];
}

function viewLink({ id, note, path, once, usedAt, createdAt, expiresAt }: LinkRecord): Link {
  return {
    id,
    note,
    ...(path !== null && { path }),
    ...(once && { once }),
    ...(usedAt !== null && { used_at: timestamp(usedAt) }),
    created_at: timestamp(createdAt),
    expires_at: timestamp(expiresAt),
  };
}

function viewNewLink({ tunnel, link, token }: MadeLink, addresses: Addresses): NewLink {
  const path = link.path ?? '/';
  const { public_url } = tunnelUrls(tunnel, addresses);
  const url = `${public_url}${path}${path.includes('?') ? '&' : '?'}${LINK_PARAMETER}=${token}`;
  return { ...viewLink(link), url };
}

function viewKnock(knock: StoredKnock): Knock {
  const { id, address, agent, at, client } = knock;
  const times = { at: timestamp(at), ends_at: timestamp(endOf(knock)) };
  return { id, status: stateOf(knock), address, agent, ...times, ...(client !== undefined && { client }) };
}

function viewAgent(agent: AgentRecord): Agent {
  const { id, name, host, returnsTo, person, createdAt, firstUsedAt, lastUsedAt } = agent;
  return {
    id,
    name,
    host,
    returns_to: returnsTo,
    // The provider says what is in a person's id, and clients accept no text that could move a cursor.
    user: person === null ? null : escapeUnprintable(signedInOf(person)?.name ?? ''),
    created_at: timestamp(createdAt),
    first_used_at: timestampOr(null, firstUsedAt),
    last_used_at: timestampOr(null, lastUsedAt),
  };
}

const REVOKED = statusOf('revoked', 'Revoked');

/** Routes for the visitors of a tunnel: signed links, approval requests and agents (protocol.md sections 11.2, 11.3 and 11.6). */
export function visitorRoutes({ links, knocks, agents, writes, addresses }: ApiDeps): Route[] {
  return [
    {
      call: 'post /v1/tunnels/{id}/links',
      id: 'createLink',
      tag: 'Access',
      summary: 'Create a signed link',
      description:
        `Anyone who opens it has access until it expires; with \`once\`, only the first browser that opens it. A tunnel can have ${LINKS_MAX} valid links at a time, and ${REVOKED_LINKS_MAX} that were revoked ` +
        'before they expired.',
      caller: 'tunnelOwner',
      body: { schema: CREATE_LINK.schema, required: false },
      results: { 201: ['The link.', NEW_LINK.schema] },
      errors: ['invalidTtl', 'ttlTooLong', 'invalidLink', 'linksOff', 'tooManyLinks'],
      async handle(ctx) {
        const { account, caller } = ctx.state;
        const wanted = readCreateLink(ctx.request.body, maxTtlOf(caller.scope));
        const made = await writes.run(account.id, () => links.create(account, idOf(ctx), wanted));
        return viewNewLink(made, addresses);
      },
    },
    {
      call: 'get /v1/tunnels/{id}/links',
      id: 'listLinks',
      tag: 'Access',
      summary: "List a tunnel's valid links",
      caller: 'tunnelOwner',
      results: { 200: ['The links.', LINK_LIST.schema] },
      async handle(ctx) {
        const found = await links.list(ctx.state.account, idOf(ctx));
        return { links: found.map(viewLink) };
      },
    },
    {
      call: 'delete /v1/tunnels/{id}/links/{link_id}',
      id: 'revokeLink',
      tag: 'Access',
      summary: 'Revoke a link',
      description:
        "Within a second, the link and its visitors' cookies stop working, and those visitors' connections are closed.",
      caller: 'tunnelOwner',
      results: { 200: ['The link was revoked.', REVOKED.schema] },
      errors: ['linkNotFound'],
      async handle(ctx) {
        const { account } = ctx.state;
        await writes.run(account.id, () => links.revoke(account, idOf(ctx), partOf(ctx)));
        return REVOKED.body;
      },
    },
    {
      call: 'get /v1/tunnels/{id}/knocks',
      id: 'listKnocks',
      tag: 'Access',
      summary: "List a tunnel's approval requests",
      description:
        'The list includes visitors who are waiting, who have been approved, or who were denied in the last 5 minutes.',
      caller: 'tunnelOwner',
      results: { 200: ['The knocks.', KNOCK_LIST.schema] },
      async handle(ctx) {
        const found = await knocks.list(ctx.state.account, idOf(ctx));
        return { knocks: found.map(viewKnock) };
      },
    },
    {
      call: 'put /v1/tunnels/{id}/knocks/{knock_id}',
      id: 'answerKnock',
      tag: 'Access',
      summary: 'Approve or deny a visitor',
      description: "Denying an approved visitor revokes the approval and closes the visitor's connections.",
      caller: 'tunnelOwner',
      body: { schema: KNOCK_ANSWER_SCHEMA, required: true },
      results: { 200: ['The knock.', KNOCK.schema] },
      errors: ['invalidKnockAnswer', 'knockNotFound', 'tooManyAdmitted'],
      async handle(ctx) {
        const { account, caller } = ctx.state;
        const answer = readKnockAnswer(ctx.request.body, maxTtlOf(caller.scope));
        return viewKnock(
          await writes.run(account.id, () => knocks.answer(account, idOf(ctx), partOf(ctx), answer)),
        );
      },
    },
    {
      call: 'get /v1/tunnels/{id}/agents',
      id: 'listAgents',
      tag: 'Access',
      summary: "List a tunnel's agents",
      description: 'MCP clients that were approved, and that can still use the tunnel.',
      caller: 'tunnelOwner',
      results: { 200: ['The agents.', AGENT_LIST.schema] },
      async handle(ctx) {
        const found = await agents.list(ctx.state.account, idOf(ctx));
        return { agents: found.map(viewAgent) };
      },
    },
    {
      call: 'delete /v1/tunnels/{id}/agents/{agent_id}',
      id: 'revokeAgent',
      tag: 'Access',
      summary: 'Revoke an agent',
      description: "Within a second, the agent's tokens stop working, and its connections are closed.",
      caller: 'tunnelOwner',
      results: { 200: ['The agent was revoked.', REVOKED.schema] },
      errors: ['agentNotFound'],
      async handle(ctx) {
        const { account } = ctx.state;
        await writes.run(account.id, () => agents.revoke(account, idOf(ctx), partOf(ctx)));
        return REVOKED.body;
      },
    },
  ];
}

/**
 * Queries on agents that were admitted by OAuth (server/oauth), in SQL that every supported database understands. Each
 * change of what an agent has is one transaction, so that a code or a refresh token is good once, whichever relays are
 * asked with it.
 */
import { sql } from 'kysely';
import {
  ACCESS_TOKEN_MS,
  type AgentRecord,
  type RevokedLink,
  type StoredAccessToken,
  type StoredRefresh,
  type TunnelRecord,
} from '../records.ts';
import { rememberEndings } from './ending-queries.ts';
import { change, type Db, read, TRANSFER_BATCH } from './operation.ts';

/**
 * ms after a refresh token was used in which it can be used once more, because the response with its successor was
 * lost.
 */
export const REFRESH_GRACE_MS = 10_000;
/** Maximum number of access tokens that an agent has at the same time; the oldest is forgotten first. */
export const ACCESS_TOKENS_MAX = 8;
/**
 * How long a refresh token is good that is not used.
 *
 * @limit owner: Time after which an unused agent is forgotten | the agent has to ask again
 */
export const REFRESH_TOKEN_MS = 30 * 24 * 3_600_000;

/** A pair of tokens that was made for an agent: their hashes. */
export interface NewTokens {
  readonly access: string;
  readonly refresh: string;
}

/** What a client presents at the token endpoint, except for the code or token itself. */
export interface Presented {
  /** of the agent */
  readonly id: string;
  /** of the code or the refresh token */
  readonly hash: string;
  readonly clientHash: string;
  /** `undefined` if the client names none */
  readonly resource: string | undefined;
}

/** Tokens were given; nothing was, or the resource is another one; or the agent ended, as it has to. */
export type Grant =
  | { readonly kind: 'granted'; readonly agent: AgentRecord }
  | { readonly kind: 'wrong' | 'resource' }
  | { readonly kind: 'ended'; readonly ended: EndedAgent };

/** An agent that was ended, or one of its tokens. */
export interface EndedAgent {
  readonly agent: AgentRecord;
  /** its tunnel, if it lives: its id, and what was revoked of it */
  readonly tunnel: { readonly id: string; readonly revoked: readonly RevokedLink[] } | undefined;
}

/**
 * Stores an agent whose code can be exchanged, and removes agents that are over.
 *
 * @param max agents of the tunnel
 * @returns `full` if it has as many; `undefined` if there is no tunnel of this account and slug that takes agents
 */
export const insertAgent = change(
  async (db, agent: AgentRecord, max: number): Promise<'stored' | 'full' | undefined> => {
    const { accountId, slug, createdAt: now } = agent;
    // Those who approve agents of a tunnel take turns.
    const tunnel = await tunnelOf(db, agent);
    if (tunnel?.access?.oauth !== true) return undefined;
    const over = db.selectFrom('agents').select('id').where('endsAt', '<=', now).limit(TRANSFER_BATCH);
    await remove(db, await over.forUpdate().skipLocked().execute());
    if ((await countAgents(db, accountId, slug, now)) >= max) return 'full';
    await db.insertInto('agents').values(agent).execute();
    return 'stored';
  },
);

/** How many agents a tunnel has, those included whose code was not exchanged yet. */
export const countAgents = read(async (db, accountId: string, slug: string, now: number): Promise<number> => {
  const { count } = await ofTunnel(db, accountId, slug, now)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
});

/**
 * Lists the agents of a tunnel that have got tokens, oldest first.
 *
 * @param now wall time in ms
 */
export const agentsOf = read((db, accountId: string, slug: string, now: number): Promise<AgentRecord[]> =>
  ofTunnel(db, accountId, slug, now)
    .selectAll()
    .where('refresh', 'is not', null)
    .orderBy('createdAt')
    .orderBy('id')
    .execute(),
);

function ofTunnel(db: Db, accountId: string, slug: string, now: number) {
  return db
    .selectFrom('agents')
    .where('slug', '=', slug)
    .where('accountId', '=', accountId)
    .where('endsAt', '>', now);
}

export const findAgent = read((db, id: string): Promise<AgentRecord | undefined> =>
  db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst(),
);

/**
 * Gives an agent its first tokens. A code that is used twice ends what it gave.
 *
 * @param challenge made from the client's verifier
 * @param now wall time in ms
 */
export const redeemCode = change(
  async (
    db,
    given: Presented & { readonly challenge: string; readonly redirectUri: string },
    next: NewTokens,
    now: number,
  ): Promise<Grant> => {
    const held = await lockAgent(db, given.id, now);
    if (held?.agent.code.hash !== given.hash) return { kind: 'wrong' };
    const { agent } = held;
    const { code } = agent;
    if (code.isUsed) return { kind: 'ended', ended: await end(db, held, now) };
    const isRight =
      code.endsAt > now &&
      agent.clientHash === given.clientHash &&
      code.redirectUri === given.redirectUri &&
      code.challenge === given.challenge;
    if (!isRight) return { kind: 'wrong' };
    if (!isSame(given.resource, code.resource)) return { kind: 'resource' };
    const refresh = { hashes: [next.refresh], endsAt: now + REFRESH_TOKEN_MS, previous: null };
    return await give(db, { ...agent, code: { ...code, isUsed: true }, refresh }, next, now);
  },
);

/**
 * Replaces a refresh token, and gives a new access token. A refresh token that is used again ends the agent, unless the
 * response with its successor may have been lost.
 *
 * @param given a token that a relay has made
 * @param now wall time in ms
 */
export const rotateRefresh = change(
  async (db, given: Presented, next: NewTokens, now: number): Promise<Grant> => {
    const held = await lockAgent(db, given.id, now);
    if (held === undefined || held.agent.refresh === null || held.agent.clientHash !== given.clientHash)
      return { kind: 'wrong' };
    const { agent } = held;
    const { hashes, previous, endsAt } = held.agent.refresh;
    const isGood = hashes.includes(given.hash);
    const isLost =
      previous?.hash === given.hash && hashes.length === 1 && now - previous.at <= REFRESH_GRACE_MS;
    if (!isGood && !isLost) return { kind: 'ended', ended: await end(db, held, now) };
    if (isGood && endsAt <= now) return { kind: 'wrong' };
    if (!isSame(given.resource, agent.code.resource)) return { kind: 'resource' };
    const refresh: StoredRefresh = {
      hashes: isGood ? [next.refresh] : [...hashes, next.refresh],
      endsAt: now + REFRESH_TOKEN_MS,
      previous: isGood ? { hash: given.hash, at: now } : previous,
    };
    return await give(db, { ...agent, refresh }, next, now);
  },
);

async function give(db: Db, agent: AgentRecord, next: NewTokens, now: number): Promise<Grant> {
  const { id, code, refresh } = agent;
  const accessTokens: StoredAccessToken[] = [...agent.accessTokens, [next.access, now + ACCESS_TOKEN_MS]];
  const changed = {
    code,
    refresh,
    accessTokens: accessTokens.filter(([, endsAt]) => endsAt > now).slice(-ACCESS_TOKENS_MAX),
    endsAt: now + REFRESH_TOKEN_MS,
  };
  await db.updateTable('agents').set(changed).where('id', '=', id).execute();
  return { kind: 'granted', agent: { ...agent, ...changed } };
}

function isSame(given: string | undefined, resource: string): boolean {
  return given === undefined || given === resource;
}

/**
 * Ends an agent of a tunnel.
 *
 * @param now wall time in ms
 * @returns `undefined` if the tunnel has no such agent
 */
export const endAgent = change(
  async (db, { accountId, slug }: OwnName, id: string, now: number): Promise<EndedAgent | undefined> => {
    const held = await lockAgent(db, id, now);
    const isOwn = held?.agent.accountId === accountId && held.agent.slug === slug;
    return held === undefined || !isOwn ? undefined : await end(db, held, now);
  },
);

/**
 * Revokes a token for the client that has it: a refresh token with its agent, an access token alone.
 *
 * @param hash of the token
 * @param now wall time in ms
 * @returns `undefined` if the client has no such token
 */
export const revokeToken = change(
  async (
    db,
    id: string,
    hash: string,
    clientHash: string | undefined,
    now: number,
  ): Promise<EndedAgent | undefined> => {
    const held = await lockAgent(db, id, now);
    if (held === undefined || (clientHash !== undefined && held.agent.clientHash !== clientHash))
      return undefined;
    const { agent, tunnel } = held;
    const { hashes = [], previous } = agent.refresh ?? {};
    if (hashes.includes(hash) || previous?.hash === hash) return await end(db, held, now);
    if (!agent.accessTokens.some(([token]) => token === hash)) return undefined;
    const accessTokens = agent.accessTokens.filter(([token]) => token !== hash);
    await db.updateTable('agents').set({ accessTokens }).where('id', '=', id).execute();
    return { agent, tunnel: tunnel && { id: tunnel.id, revoked: tunnel.revokedLinks } };
  },
);

/** When an agent was used: its id, and the wall time in ms. */
export type AgentUse = readonly [id: string, at: number];

/** Stores when agents were used, in one transaction. Unknown ids are ignored. */
export const markAgentsUsed = change(async (db, uses: readonly AgentUse[]): Promise<void> => {
  // Always in this order, so that no two relays wait for each other.
  for (const [id, at] of uses.toSorted(([a], [b]) => (a < b ? -1 : 1)))
    await db
      .updateTable('agents')
      .set({ firstUsedAt: sql`coalesce("firstUsedAt", cast(${at} as bigint))`, lastUsedAt: at })
      .where('id', '=', id)
      .execute();
});

/** An agent and its tunnel, if that lives, while nobody else changes them. */
interface HeldAgent {
  readonly agent: AgentRecord;
  readonly tunnel: Awaited<ReturnType<typeof tunnelOf>>;
}

/** The tunnel first, as where tunnels end, so that no two transactions wait for each other. */
async function lockAgent(db: Db, id: string, now: number): Promise<HeldAgent | undefined> {
  const found = await findAgent(db, id);
  if (found === undefined) return undefined;
  const tunnel = await tunnelOf(db, found);
  if (tunnel === undefined && !(await isResting(db, found, now))) {
    await remove(db, [found]);
    return undefined;
  }
  const agent = await db.selectFrom('agents').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
  return agent && { agent, tunnel };
}

/**
 * Removes an agent before its time, so that a restore of a backup does not bring it back, and the relays that serve its
 * tunnel cut what it has opened.
 */
async function end(db: Db, { agent, tunnel }: HeldAgent, now: number): Promise<EndedAgent> {
  const { id, accountId } = agent;
  await remove(db, [agent]);
  const keptUntil = now + REFRESH_TOKEN_MS;
  await rememberEndings(db, [{ id, kind: 'agent', accountId, endedAt: now, keptUntil }], now);
  if (tunnel === undefined) return { agent, tunnel };
  const news: RevokedLink = [id, now + ACCESS_TOKEN_MS];
  const revoked = [...tunnel.revokedLinks.filter(([, expiresAt]) => expiresAt > now), news];
  await db.updateTable('tunnels').set({ revokedLinks: revoked }).where('id', '=', tunnel.id).execute();
  return { agent, tunnel: { id: tunnel.id, revoked } };
}

/** A name of an account. */
type OwnName = Pick<TunnelRecord, 'accountId' | 'slug'>;

/** Whether an account keeps a name. */
export async function isKept(db: Db, { slug, accountId }: OwnName): Promise<boolean> {
  const kept = db.selectFrom('kept_names').select('name').where('name', '=', slug);
  return (await kept.where('accountId', '=', accountId).executeTakeFirst()) !== undefined;
}

/**
 * Whether a name without a tunnel is still its account's: held since that ended, or kept.
 *
 * @param now wall time in ms
 */
export async function isResting(db: Db, name: OwnName, now: number): Promise<boolean> {
  const held = await db
    .selectFrom('released_names')
    .select('slug')
    .where('slug', '=', name.slug)
    .where('accountId', '=', name.accountId)
    .where('heldUntil', '>', now)
    .executeTakeFirst();
  return held !== undefined || (await isKept(db, name));
}

/** Removes the agents of a name that has no tunnel, and is neither held nor kept. @param now wall time in ms */
export async function removeAgentsOver(db: Db, name: OwnName, now: number): Promise<void> {
  const isOver = (await tunnelOf(db, name)) === undefined && !(await isResting(db, name, now));
  if (isOver) await removeAgentsAt(db, [name.slug]);
}

function tunnelOf(db: Db, { accountId, slug }: OwnName) {
  return db
    .selectFrom('tunnels')
    .select(['id', 'access', 'revokedLinks'])
    .where('slug', '=', slug)
    .where('accountId', '=', accountId)
    .forUpdate()
    .executeTakeFirst();
}

async function remove(db: Db, agents: readonly Pick<AgentRecord, 'id'>[]): Promise<void> {
  const ids = agents.map(({ id }) => id);
  if (ids.length > 0) await db.deleteFrom('agents').where('id', 'in', ids).execute();
}

/**
 * To be called in the transaction that takes a name from its account, or its tunnel's agents their way in.
 *
 * @param kept account whose agents stay
 */
export async function removeAgentsAt(db: Db, slugs: readonly string[], kept?: string): Promise<void> {
  if (slugs.length === 0) return;
  const removed = db.deleteFrom('agents').where('slug', 'in', slugs);
  await (kept === undefined ? removed : removed.where('accountId', '!=', kept)).execute();
}

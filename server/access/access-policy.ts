/** Who may visit a tunnel, in the form the relay uses: passwords are hashed, networks are searchable. */
import { hash as digest, randomBytes, timingSafeEqual } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import { type Access, type AccessView, TOKEN_MAX_LENGTH, TOKEN_PREFIX } from '../../shared/access.ts';
import { parseNetwork } from '../../shared/networks.ts';
import { generateKey, hashKey } from '../accounts/api-keys.ts';
import type { NewAccess } from '../store/queries/tunnel-changes.ts';
import type { RevokedLink, StoredAccess, StoredToken } from '../store/records.ts';
import type { PasswordHashes } from './password-hashes.ts';
import { SignInRules } from './people.ts';

/**
 * Largest IPv4 network, in bits, that counts as access control for an agent's tunnel. Private networks can be
 * larger.
 */
const AGENT_ALLOW_MIN_BITS = 16;
/** Largest IPv6 network, in bits, that counts as access control for an agent's tunnel, unless it is private. */
const AGENT_ALLOW_MIN_BITS_IPV6 = 32;

/** An access policy that is ready to be stored, with the tokens that were made for it, by name. */
export interface PreparedAccess extends NewAccess {
  /** not used if the tunnel already has a token of that name */
  readonly made: ReadonlyMap<string, string>;
}

/**
 * Hashes passwords and tokens, and makes the missing tokens.
 *
 * @param accountId the owner: accounts take turns at hashing
 * @throws BusyError
 */
export async function prepareAccess(
  given: Access,
  hashes: Pick<PasswordHashes, 'hash'>,
  accountId: string,
): Promise<PreparedAccess> {
  const { allow, basic, password, links, knock, sign_in, oauth } = given;
  const made = new Map<string, string>();
  const isForAll =
    allow.length + basic.length + given.tokens.length + sign_in.length === 0 && password === undefined;
  if (isForAll && !links && !knock && !oauth) return { access: null, kept: [], made };
  for (const { name, token } of given.tokens)
    if (token === undefined) made.set(name, generateKey(TOKEN_PREFIX));
  const owner = { account: accountId, tunnel: '' };
  const users = [];
  for (const { user, password: theirs } of basic)
    users.push({ user, hash: await hashes.hash(theirs, owner) });
  const access = {
    version: randomBytes(9).toString('base64url'),
    allow,
    basic: users,
    password: password === undefined ? null : await hashes.hash(password, owner),
    links,
    knock,
    sign_in,
    oauth,
    tokens: given.tokens.map(({ name, token = made.get(name) ?? '' }) => ({ name, hash: hashKey(token) })),
  };
  return { access, kept: [...made.keys()], made };
}

/**
 * Networks, each with the shortest prefix of a range within it that is small: private networks as a whole (RFC 1918, RFC
 * 6598, RFC 1122, RFC 3927, RFC 4193, RFC 4291), and parts of the internet. Others, such as IPv4 addresses in the form of
 * IPv6, count as single addresses only.
 */
const SMALL_WITHIN = (
  [
    ['10.0.0.0/8', 8],
    ['172.16.0.0/12', 12],
    ['192.168.0.0/16', 16],
    ['100.64.0.0/10', 10],
    ['127.0.0.0/8', 8],
    ['169.254.0.0/16', 16],
    ['fc00::/7', 7],
    ['fe80::/10', 10],
    ['0.0.0.0/0', AGENT_ALLOW_MIN_BITS],
    ['2000::/3', AGENT_ALLOW_MIN_BITS_IPV6],
    ['::/0', 128],
  ] as const
).map(([network, minBits]) => {
  return { within: networksOf([network]), family: network.includes(':') ? 'ipv6' : 'ipv4', minBits };
});

/**
 * Whether a policy keeps strangers out, which agents' keys require (protocol.md section 2.1). An `allow` list alone does
 * so only if each of its networks is private or small: several large ones together could be the whole internet.
 */
export function isGuarded({ allow, basic, password, links, knock, tokens, sign_in, oauth }: Access): boolean {
  if (basic.length + tokens.length + sign_in.length > 0 || password !== undefined) return true;
  if (links || knock || oauth) return true;
  return allow.length > 0 && allow.every((text) => isSmall(text));
}

function isSmall(text: string): boolean {
  const network = parseNetwork(text);
  if (network === undefined) return false;
  const { address, family, bits } = network;
  return SMALL_WITHIN.some(
    // A list of IPv4 networks also contains their addresses in the form of IPv6.
    (small) => small.family === family && bits >= small.minBits && small.within.check(address, family),
  );
}

function networksOf(allow: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const text of allow) {
    const network = parseNetwork(text);
    if (network !== undefined) networks.addSubnet(network.address, network.bits, network.family);
  }
  return networks;
}

export class AccessPolicy {
  readonly stored: StoredAccess;
  /** about people who sign in */
  readonly signIn: SignInRules;
  readonly #networks: BlockList | undefined;
  readonly #users: ReadonlyMap<string, string>;
  /** with their SHA-256 */
  readonly #tokens: readonly (readonly [StoredToken, Buffer])[];

  constructor(stored: StoredAccess) {
    this.stored = stored;
    this.signIn = new SignInRules(stored.sign_in);
    this.#tokens = stored.tokens.map((token) => [token, Buffer.from(token.hash, 'hex')]);
    this.#users = new Map(stored.basic.map(({ user, hash }) => [user, hash]));
    if (stored.allow.length > 0) this.#networks = networksOf(stored.allow);
  }

  get version(): string {
    return this.stored.version;
  }

  /** Whether the policy allows an address at all. */
  allows(address: string): boolean {
    return this.#networks === undefined || this.#networks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  /** Whether more than an allowed address is required. */
  get asks(): boolean {
    return this.hasUsers || this.hasTokens || this.#asksPeople;
  }

  /** Whether programs pass with what they send along, and people have no other way. */
  get isForPrograms(): boolean {
    return (this.hasUsers || this.hasTokens) && !this.#asksPeople;
  }

  get #asksPeople(): boolean {
    const { password, links, knock, sign_in, oauth } = this.stored;
    return password !== null || links || knock || oauth || sign_in.length > 0;
  }

  /** Whether people have no other way than to sign in; programs may have tokens. */
  get isForPeopleWhoSignIn(): boolean {
    const { password, links, knock } = this.stored;
    return !this.signIn.isEmpty && !this.hasUsers && password === null && !links && !knock;
  }

  get hasTokens(): boolean {
    return this.#tokens.length > 0;
  }

  /** Compares in a time that does not depend on how much of a token is right, or on which one it is. */
  findToken(text: string): StoredToken | undefined {
    if (text.length > TOKEN_MAX_LENGTH) return undefined;
    const given = digest('sha256', text, 'buffer');
    let found: StoredToken | undefined;
    for (const [token, expected] of this.#tokens) if (timingSafeEqual(given, expected)) found ??= token;
    return found;
  }

  /** Whether a token that gave access still does. */
  hasToken(hash: string): boolean {
    return this.stored.tokens.some((token) => token.hash === hash);
  }

  get takesLinks(): boolean {
    return this.stored.links;
  }

  /** Whether agents are admitted by OAuth. */
  get takesAgents(): boolean {
    return this.stored.oauth;
  }

  get takesApprovalRequests(): boolean {
    return this.stored.knock;
  }

  get hasUsers(): boolean {
    return this.#users.size > 0;
  }

  hasUser(user: string): boolean {
    return this.#users.has(user);
  }

  /** @returns `undefined` for a user who does not exist */
  hashOf(user: string): string | undefined {
    return this.#users.get(user);
  }

  /**
   * As in the tunnel object.
   *
   * @param uses when tokens were last used, wall time in ms, by hash
   */
  view(uses: ReadonlyMap<string, number>): AccessView {
    const { allow, basic, password, links, knock, tokens, sign_in, oauth } = this.stored;
    return {
      ...(allow.length > 0 && { allow }),
      ...(basic.length > 0 && { basic: basic.map(({ user }) => user) }),
      ...(password !== null && { password: true }),
      ...(links && { links }),
      ...(knock && { knock }),
      ...(tokens.length > 0 && { tokens: tokens.map((token) => viewToken(token, uses.get(token.hash))) }),
      ...(sign_in.length > 0 && { sign_in }),
      ...(oauth && { oauth }),
    };
  }
}

function viewToken(
  { name }: StoredToken,
  usedAt: number | undefined,
): NonNullable<AccessView['tokens']>[number] {
  return { name, ...(usedAt !== undefined && { last_used_at: new Date(usedAt).toISOString() }) };
}

/**
 * An access policy as it is shown to the owner who has just set it.
 *
 * @param stored the policy that the tunnel has now
 * @returns with the tokens that were made for it, unless the tunnel has kept earlier ones
 */
export function withMadeTokens(
  view: AccessView,
  stored: StoredAccess | undefined,
  made: PreparedAccess['made'],
): AccessView {
  if (view.tokens === undefined || made.size === 0) return view;
  const hashes = new Map(stored?.tokens.map(({ name, hash }) => [name, hash]));
  const tokens = view.tokens.map((shown) => {
    const token = made.get(shown.name);
    return token !== undefined && hashes.get(shown.name) === hashKey(token) ? { ...shown, token } : shown;
  });
  return { ...view, tokens };
}

/* Links of one tunnel that were revoked before their end. */

export class RevokedLinks {
  /** when the links end, wall time in ms, by id; most tunnels have none */
  #ends: ReadonlyMap<string, number> | undefined;

  constructor(links: readonly RevokedLink[]) {
    if (links.length > 0) this.#ends = new Map(links);
  }

  has(id: string): boolean {
    return this.#ends?.has(id) ?? false;
  }

  /**
   * Older data neither adds nor removes anything that is already known.
   *
   * @param now wall time in ms; links that have ended by then are forgotten
   * @returns whether the set has changed
   */
  add(links: readonly RevokedLink[], now: number): boolean {
    const news = links.filter(([id, end]) => end > now && !this.has(id));
    if (news.length === 0) return false;
    const kept = [...(this.#ends ?? [])].filter(([, end]) => end > now);
    this.#ends = new Map([...kept, ...news]);
    return true;
  }
}

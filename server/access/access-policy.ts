/** Who may visit a tunnel, in the form the relay uses: passwords are hashed, networks are searchable. */
import { randomBytes } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import type { Access, AccessView } from '../../shared/access.ts';
import { parseNetwork } from '../../shared/networks.ts';
import type { RevokedLink, StoredAccess } from '../store/records.ts';
import type { PasswordHashes } from './password-hashes.ts';

/**
 * @param accountId the owner: accounts take turns at hashing
 * @returns what the store keeps; `null` for a tunnel without an access policy
 * @throws BusyError
 */
export async function storedAccess(
  given: Access,
  hashes: Pick<PasswordHashes, 'hash'>,
  accountId: string,
): Promise<StoredAccess | null> {
  const { allow, basic, password, links, knock } = given;
  if (allow.length === 0 && basic.length === 0 && password === undefined && !links && !knock) return null;
  const owner = { account: accountId, tunnel: '' };
  const users = [];
  for (const { user, password: theirs } of basic)
    users.push({ user, hash: await hashes.hash(theirs, owner) });
  return {
    version: randomBytes(9).toString('base64url'),
    allow,
    basic: users,
    password: password === undefined ? null : await hashes.hash(password, owner),
    links,
    knock,
  };
}

export class AccessPolicy {
  readonly stored: StoredAccess;
  readonly #networks: BlockList | undefined;
  readonly #users: ReadonlyMap<string, string>;

  constructor(stored: StoredAccess) {
    this.stored = stored;
    this.#users = new Map(stored.basic.map(({ user, hash }) => [user, hash]));
    if (stored.allow.length === 0) return;
    this.#networks = new BlockList();
    for (const text of stored.allow) {
      const network = parseNetwork(text);
      if (network !== undefined) this.#networks.addSubnet(network.address, network.bits, network.family);
    }
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
    const { password, links, knock } = this.stored;
    return this.#users.size > 0 || password !== null || links || knock;
  }

  get takesLinks(): boolean {
    return this.stored.links;
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

  /** As in the tunnel object. */
  view(): AccessView {
    const { allow, basic, password, links, knock } = this.stored;
    return {
      ...(allow.length > 0 && { allow }),
      ...(basic.length > 0 && { basic: basic.map(({ user }) => user) }),
      ...(password !== null && { password: true }),
      ...(links && { links }),
      ...(knock && { knock }),
    };
  }
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

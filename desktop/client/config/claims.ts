/** Decides about a name that a live tunnel of the account already has: whether this client may take over the tunnel. */
import type { Access, AccessView } from '../../../shared/access.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { NameInUse, type NameObstacle, type NameSource } from '../failures.ts';
import type { ApiClient, CreateRequest } from '../relay/api-client.ts';
import type { Prompt } from './relay-access.ts';

/** A name that a tunnel should get, with its access policy. */
export interface WantedName {
  readonly name: string | undefined;
  readonly access: Access;
}

/** What happens to the live tunnel that has a wanted name. */
export type Claim = 'take-over' | NameInUse;

interface ClaimOptions {
  readonly from: NameSource;
  /** `undefined` if nobody can be asked */
  readonly prompt?: Prompt | undefined;
  /** the answer to every question, if the user has given it beforehand */
  readonly takesOver?: boolean | undefined;
  /** ids of tunnels that this process has created: it may take them over again */
  readonly made?: ReadonlySet<string> | undefined;
}

/**
 * Only a person's choice takes a tunnel over without a question: anyone may have written a file, and a name that was
 * derived from one is not a decision about an existing tunnel.
 *
 * @returns claims by name; a missing name is new, or the relay could not be asked, which the create then reports
 */
export async function claimNames(
  api: Pick<ApiClient, 'listTunnels'>,
  wanted: readonly WantedName[],
  options: ClaimOptions,
): Promise<ReadonlyMap<string, Claim>> {
  const claims = new Map<string, Claim>();
  const named = new Map(wanted.flatMap(({ name = '', access }) => (name === '' ? [] : [[name, access]])));
  if (named.size === 0) return claims;
  const tunnels = await api.listTunnels().catch(() => []);
  for (const tunnel of tunnels) {
    const access = named.get(tunnel.name);
    if (access !== undefined) claims.set(tunnel.name, await claim(tunnel, access, options));
  }
  return claims;
}

/** The request for a tunnel whose name is claimed. @throws NameInUse */
export function claimRequest(request: CreateRequest, claimed: Claim | undefined): CreateRequest {
  if (claimed instanceof NameInUse) throw claimed;
  return claimed === 'take-over' ? { ...request, take_over: true } : request;
}

async function claim(
  live: Tunnel,
  access: Access,
  { from, prompt, takesOver = false, made }: ClaimOptions,
): Promise<Claim> {
  const obstacle = obstacleTo(live, access, made?.has(live.id) === true ? 'person' : from);
  if (obstacle === undefined) return 'take-over';
  const isTaken = obstacle !== 'program' && (takesOver || (await mayReplace(live, obstacle, prompt)));
  return isTaken ? 'take-over' : new NameInUse(live.name, obstacle, from);
}

function obstacleTo(live: Tunnel, access: Access, from: NameSource): NameObstacle | undefined {
  if (from === 'program') return 'program';
  if (live.online) return 'online';
  return from === 'person' || isOpen(live.access) || isSame(access, live.access) ? undefined : 'access';
}

function isOpen(access: AccessView): boolean {
  return Object.keys(access).length === 0;
}

/** Fields of a policy that a relay shows completely: for all others, it shows no secrets, so they may always differ. */
const COMPARABLE: ReadonlySet<string> = new Set(['allow', 'links', 'knock', 'tokens', 'sign_in', 'oauth']);

function isSame(access: Access, shown: AccessView): boolean {
  const { allow, basic, password, links, knock, tokens, sign_in, oauth } = access;
  if (basic.length > 0 || password !== undefined) return false;
  if (Object.keys(shown).some((field) => !COMPARABLE.has(field))) return false;
  return (
    links === (shown.links ?? false) &&
    knock === (shown.knock ?? false) &&
    oauth === (shown.oauth ?? false) &&
    isSameList(allow, shown.allow ?? []) &&
    isSameList(sign_in, shown.sign_in ?? []) &&
    isSameList(namesOf(tokens), namesOf(shown.tokens ?? []))
  );
}

function namesOf(list: readonly { readonly name: string }[]): string[] {
  return list.map(({ name }) => name);
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join() === other.toSorted().join();
}

async function mayReplace(
  { name, local_port }: Tunnel,
  obstacle: NameObstacle,
  prompt: Prompt | undefined,
): Promise<boolean> {
  if (prompt === undefined) return false;
  const what =
    obstacle === 'online'
      ? `Another client is serving your tunnel "${name}" from its port ${local_port}.`
      : `Your tunnel "${name}" to port ${local_port} has another access policy than culvert.yml, which would replace it.`;
  return /^y(?:es)?$/i.test((await prompt.ask(`${what} Take over the tunnel? [y/N] `)).trim());
}

/** Domains (protocol.md section 12) and people (section 15) of the account that is signed in. */
import type { Domain } from '../../../shared/domains.ts';
import { API_ERRORS } from '../../../shared/errors.ts';
import type { Team as Listed } from '../../../shared/team.ts';
import { RelayRefusal } from '../../client/relay/errors.ts';
import type { MemberView, NewInvitationView, TeamView } from '../ipc/ipc.ts';
import type { CheckedDomainView, DomainView } from '../ipc/tunnel-views.ts';
import { t } from '../messages/translate.ts';
import { type Connection, signedIn } from './connection.ts';
import { CallFailure } from './failure.ts';
import type { Pending, UndoList } from './undo-list.ts';

/** Maximum number of keys, and of open invitations, of a team that the window lists; a team has some dozens. */
export const TEAM_ROWS_MAX = 500;
/**
 * Maximum number of entries of a team's audit log that the window shows; `culvert team audit` shows all of them.
 */
export const TEAM_ACTS_MAX = 20;

/** All methods throw the engine's errors, and {@link CallFailure} while signed out. */
export class Domains {
  readonly #connection: () => Connection | undefined;
  readonly #undos: Pick<UndoList, 'offer'>;
  /** those whose removal can be undone, by id: the relay does not know of it yet */
  readonly #removals = new Map<string, Pending>();

  /** @param connection who is signed in */
  constructor(connection: () => Connection | undefined, undos: Pick<UndoList, 'offer'>) {
    this.#connection = connection;
    this.#undos = undos;
  }

  /** oldest first */
  async list(): Promise<readonly DomainView[]> {
    const all = await this.#api.listDomains();
    return all.filter(({ id }) => !this.#removals.has(id)).map(view);
  }

  async add(domain: string): Promise<DomainView> {
    const added = await this.#api.addDomain(domain);
    // It was there already, and is wanted after all.
    await this.#removals.get(added.id)?.undo();
    return view(added);
  }

  /**
   * Removes a domain once that can no longer be undone; a tunnel that has it ends then.
   *
   * @throws CallFailure if the account does not have it
   */
  async remove(id: string): Promise<void> {
    const { api } = signedIn(this.#connection());
    const found = (await api.listDomains()).find((one) => one.id === id);
    if (found === undefined) throw new CallFailure({ code: 'domain-gone', text: t('problem.domainGone') });
    if (this.#removals.has(id)) return;
    const pending = this.#undos.offer({
      text: t('undo.domainRemoved', { domain: found.domain }),
      undo: () => Promise.resolve(void this.#removals.delete(id)),
      commit: async () => {
        try {
          await api.removeDomain(id);
        } finally {
          this.#removals.delete(id);
        }
      },
    });
    this.#removals.set(id, pending);
  }

  /** Has the relay look at the records. */
  async check(id: string): Promise<CheckedDomainView> {
    const checked = await this.#api.verifyDomain(id);
    const problems = checked.checks.filter(({ ok }) => !ok);
    return { ...view(checked), problems: problems.map(({ problem, found }) => ({ text: problem, found })) };
  }

  get #api() {
    return signedIn(this.#connection()).api;
  }
}

function view({ id, domain, status, records }: Domain): DomainView {
  return { id, domain, status, records };
}

/** The people of the account. @returns `undefined` for a key that is not an owner's, and for a relay without teams */
export async function showTeam({ api, key }: Connection): Promise<TeamView | undefined> {
  const team = await api.listTeam().catch(unlessNoOwner);
  if (team === undefined) return undefined;
  const { acts } = await api.teamAudit();
  const { keys, invites } = team;
  return {
    members: keys.slice(0, TEAM_ROWS_MAX).map((listed) => memberView(listed, key)),
    invitations: invites.slice(0, TEAM_ROWS_MAX).map(({ id, label, expires_at: end }) => {
      return { id, label, expiresAt: Date.parse(end) };
    }),
    acts: acts
      .slice(-TEAM_ACTS_MAX)
      .toReversed()
      .map(({ at, actor, action, subject, detail }) => {
        return { at: Date.parse(at), actor, action, subject, detail };
      }),
    hasMore: Math.max(keys.length, invites.length) > TEAM_ROWS_MAX,
  };
}

/** Creates an invitation. @param person whom it is for, and how long it is valid */
export async function inviteToTeam(
  { api }: Connection,
  { label, ttl }: { readonly label: string; readonly ttl: string },
): Promise<NewInvitationView> {
  const { invites } = await api.inviteToTeam([label], ttl);
  const [made] = invites;
  if (made === undefined) throw new CallFailure({ code: 'no-invitation', text: t('problem.noInvitation') });
  return { id: made.id, label: made.label, expiresAt: Date.parse(made.expires_at), url: made.url };
}

/** Revokes a key or an invitation, unless that has already happened. */
export async function revokeFromTeam({ api }: Connection, id: string): Promise<void> {
  try {
    await api.revokeFromTeam(id);
  } catch (error) {
    if (!(error instanceof RelayRefusal && error.is(API_ERRORS.noSuch))) throw error;
  }
}

function unlessNoOwner(error: unknown): undefined {
  if (error instanceof RelayRefusal && (error.is(API_ERRORS.keyOutOfScope) || error.status === 404))
    return undefined;
  throw error;
}

function memberView(listed: Listed['keys'][number], ownKey: string): MemberView {
  const { id, label, hint, scope, created_at: created, last_used_at: used, expires_at: end } = listed;
  return {
    id,
    label,
    hint,
    scope,
    createdAt: Date.parse(created),
    usedAt: used === null ? undefined : Date.parse(used),
    expiresAt: end === null ? undefined : Date.parse(end),
    isOwn: ownKey.startsWith(hint),
  };
}

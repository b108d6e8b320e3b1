/** The people of the account in words. */
import type { MemberView, TeamActView } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import { capitalised } from './numbers.ts';
import { type Choice, wholeChoice } from './time-left.ts';

/** The choices for how long an invitation is valid. */
export function invitationChoices(): readonly Choice[] {
  return ['24h', '72h', '168h'].map(wholeChoice);
}

/** The relay's default. */
export const INVITATION_DEFAULT_TTL = '24h';

/** The name of a person in the list. @param of a key, or an invitation without a hint */
export function memberName(of: { readonly label: string; readonly hint?: string }): string {
  const { label, hint } = of;
  if (label !== '') return label;
  return hint === undefined ? t('team.noName') : t('team.key', { hint });
}

/** Begins the scope of an agent's key, followed by the prefix of its names. */
const OF_AGENT = 'agent:';

/** What a key can be used for. */
export function memberAccess({ scope }: Pick<MemberView, 'scope'>): string {
  if (scope === 'owner') return t('team.owner');
  if (scope.startsWith(OF_AGENT)) return t('team.agent', { prefix: scope.slice(OF_AGENT.length) });
  return scope === 'all' ? t('team.member') : t('team.onlyTunnel', { slug: scope });
}

/**
 * What an entry of the audit log says, as a sentence.
 *
 * @param members their labels identify who did it, because a label can contain the words of an entry
 * @returns the relay's own words for an entry that this app does not know
 */
export function actText(act: TeamActView, members: readonly Pick<MemberView, 'id' | 'label'>[]): string {
  return accountText(act) ?? memberText(act, members) ?? rawText(act);
}

function rawText({ action, subject, detail }: TeamActView): string {
  return [action, subject, detail].filter((part) => part !== '').join(' ');
}

/** What the operator and invited people have done. */
function accountText({ action, detail }: TeamActView): string | undefined {
  switch (action) {
    case 'account.create':
      return t('team.act.create');
    case 'account.set-plan':
      return t('team.act.plan', { plan: capitalised(detail) });
    case 'account.set-subdomain':
      return detail === 'none' ? t('team.act.noSubdomain') : t('team.act.subdomain', { name: detail });
    case 'account.suspend':
      return t('team.act.suspend', { reason: detail });
    case 'account.resume':
      return t('team.act.resume');
    case 'invite.create':
      return t('team.act.operatorInvite');
    case 'invite.take': {
      const label = /^key \S+, "(.*)"$/.exec(detail)?.[1];
      return label === undefined ? undefined : t('team.act.join', { who: subjectName(label) });
    }
    default:
      return undefined;
  }
}

/** What the keys of the account have done. */
function memberText(
  { action, actor, subject, detail }: TeamActView,
  members: readonly Pick<MemberView, 'id' | 'label'>[],
): string | undefined {
  const known = members.find(({ id }) => actor === `key:${id}`)?.label;
  const done = splitActor(detail, known);
  if (done === undefined) return undefined;
  const who = subjectName(done.who);
  const invited = /^invite:\S+ for "(.*)"$/.exec(done.what)?.[1];
  const revoked = /^the (invitation|key \S+) of "(.*)"$/.exec(done.what);
  const owner = /^of "(.*)"$/.exec(done.what)?.[1];
  if (action === 'team.invite' && invited !== undefined)
    return t('team.act.invite', { who, whom: objectName(invited) });
  if (action === 'team.revoke' && revoked !== null) {
    const values = { who, whom: objectName(revoked[2] ?? '') };
    return revoked[1] === 'invitation'
      ? t('team.act.revokeInvitation', values)
      : t('team.act.revokeKey', values);
  }
  if (owner === undefined) return undefined;
  const values = { who, slug: subject, whom: objectName(owner) };
  switch (action) {
    case 'team.close':
      return t('team.act.close', values);
    case 'team.extend':
      return t('team.act.extend', values);
    case 'team.access':
      return t('team.act.access', values);
    case 'team.take-over':
      return t('team.act.takeOver', values);
    default:
      return undefined;
  }
}

/**
 * Separates the end of an entry, which names who did it.
 *
 * @param known label of the key, if it is still valid
 * @returns `undefined` if the beginning of the name is ambiguous
 */
function splitActor(
  detail: string,
  known: string | undefined,
): { readonly what: string; readonly who: string } | undefined {
  const by = ', by "';
  if (known !== undefined) {
    const end = `${by}${known}"`;
    return detail.endsWith(end) ? { what: detail.slice(0, -end.length), who: known } : undefined;
  }
  const [what = '', who = '', ...more] = detail.split(by);
  return more.length === 0 && who.endsWith('"') ? { what, who: who.slice(0, -1) } : undefined;
}

/** A person as the subject of a sentence. */
function subjectName(label: string): string {
  return label === '' ? t('team.unnamed') : label;
}

/** A person as the object of a sentence. */
function objectName(label: string): string {
  return label === '' ? t('team.ofUnnamed') : label;
}

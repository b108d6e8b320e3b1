/** `culvert team`: the people of an account, for its owners. */
import type { NewTeamInvites, Team, TeamAudit } from '../../shared/team.ts';
import { ExitCode, UsageError } from '../client/failures.ts';
import { apiOf, type CommandLine, defineCommand } from './command.ts';
import { jsonLine, localTime, table } from './format.ts';
import { COMMON } from './options.ts';

export const teamCommand = defineCommand({
  name: 'team',
  operands: 'list | invite LABEL... | revoke ID|LABEL | audit',
  words: ['list', 'invite', 'revoke', 'audit'],
  summary: 'Manage the people of your account',
  options: { Invitations: ['ttl'], ...COMMON },
  meanings: { ttl: 'How long invitations are valid, such as 24h or 72h. Default: 24h.' },
  examples: {
    'culvert team list': 'show the keys and open invitations of the account',
    'culvert team invite ann bob --ttl 72h': 'create an invitation for each and print its address',
    'culvert team revoke ann':
      "revoke ann's key or invitation, and close the connections opened with the key",
    'culvert team audit': "show who closed, extended or changed somebody else's tunnel, and who joined",
  },
  details: `
    These commands need an owner's key, which the operator of the relay creates with "culvert-relay key create --owner".
    An invitation gives one person a key with full access to the account's tunnels. Only an owner can invite or revoke
    people. "culvert list" shows whose tunnel is whose.`,
  read: (line) => ({ action: readTeamAction(line), ttl: line.ttl(), ...line.access() }),
  async run(command, { output }) {
    const { json, action, ttl } = command;
    const api = apiOf(command);
    switch (action.name) {
      case 'list': {
        const team = await api.listTeam();
        output.out(json ? jsonLine(team) : teamText(team));
        return ExitCode.ok;
      }
      case 'invite': {
        const made = await api.inviteToTeam(action.labels, ttl);
        output.out(json ? jsonLine(made) : invitesText(made));
        return ExitCode.ok;
      }
      case 'revoke': {
        const { id, label } = findMember(await api.listTeam(), action.who);
        await api.revokeFromTeam(id);
        output.out(json ? jsonLine({ id, label, status: 'revoked' }) : `Revoked "${label}".\n`);
        return ExitCode.ok;
      }
      case 'audit': {
        const audit = await api.teamAudit();
        output.out(json ? jsonLine(audit) : auditText(audit));
        return ExitCode.ok;
      }
    }
  },
});

/** @throws UsageError */
function readTeamAction(line: CommandLine) {
  const [name = 'list', ...labels] = line.operands;
  if (name === 'invite') {
    if (labels.length === 0)
      throw new UsageError(
        'Specify whom to invite, such as "culvert team invite ann". The name becomes the label of the key.',
      );
    return { name, labels } as const;
  }
  if (line.values.ttl !== undefined)
    throw new UsageError('--ttl can only be used with "culvert team invite".');
  if (name === 'revoke') {
    line.atMost(2);
    const [who = ''] = labels;
    if (who === '') throw new UsageError('Specify a label or an id, as shown by "culvert team list".');
    return { name, who } as const;
  }
  if (name !== 'list' && name !== 'audit')
    throw new UsageError(`Unknown command "team ${name}". Use list, invite, revoke or audit.`);
  line.atMost(1);
  return { name } as const;
}

/** Thrown for somebody who is not in the account, or a label that several keys have. */
export class NoSuchMember extends Error {}

/** @throws NoSuchMember */
function findMember({ keys, invites }: Team, who: string): { readonly id: string; readonly label: string } {
  const all = [...keys, ...invites];
  const byId = all.find(({ id }) => id === who);
  const byLabel = all.filter(({ label }) => label === who);
  const [found = byId] = byId === undefined ? byLabel : [];
  if (found === undefined)
    throw new NoSuchMember(
      `No key or invitation has the id or label "${who}". "culvert team list" shows them`,
    );
  if (byId === undefined && byLabel.length > 1)
    throw new NoSuchMember(
      `${byLabel.length} keys and invitations have the label "${who}". Use an id from "culvert team list" instead`,
    );
  return found;
}

function teamText({ keys, invites }: Team): string {
  const rows = [
    ...keys.map(({ label, scope, last_used_at: used, id }) => [
      label === '' ? '-' : label,
      scope === 'all' ? 'member' : scope,
      used === null ? 'never' : localTime(used),
      id,
    ]),
    ...invites.map(({ label, expires_at: end, id }) => [
      label === '' ? '-' : label,
      'invited',
      `until ${localTime(end)}`,
      id,
    ]),
  ];
  return table([['LABEL', 'ACCESS', 'LAST USED', 'ID'], ...rows]);
}

function invitesText({ invites }: NewTeamInvites): string {
  return invites.map(({ label, url }) => `${label}\t${url}\n`).join('');
}

function auditText({ acts }: TeamAudit): string {
  if (acts.length === 0) return 'Nothing has been recorded yet.\n';
  const rows = acts.map(({ at, action, subject, detail }) => [localTime(at), action, subject, detail]);
  return table([['TIME', 'ACTION', 'SUBJECT', 'DETAIL'], ...rows]);
}

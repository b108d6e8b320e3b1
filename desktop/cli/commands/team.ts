/** `culvert team`: the people of an account, for its owners. */
import type { NewTeamInvites, Team, TeamAudit } from '../../../shared/team.ts';
import { apiOf, defineCommand, type Group, printOnce } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { jsonLine, localTime, table } from '../output/format.ts';

const listCommand = defineCommand({
  name: 'team list',
  summary: 'List the keys and open invitations of the account',
  options: COMMON,
  examples: { 'culvert team list': 'show the keys and open invitations of the account' },
  read: (line) => line.access(),
  async run(command, { output }) {
    const team = await apiOf(command).listTeam();
    output.out(command.json ? jsonLine(team) : teamText(team));
  },
});

const inviteCommand = defineCommand({
  name: 'team invite',
  operands: {
    labels: {
      shown: 'LABEL...',
      count: 'some',
      missing:
        'Specify whom to invite, such as "culvert team invite ann". The name becomes the label of the key.',
    },
  },
  summary: 'Create invitations',
  options: { Invitations: ['ttl'], ...COMMON },
  meanings: { ttl: 'How long invitations are valid, such as 24h or 72h. Default: 24h.' },
  examples: {
    'culvert team invite ann bob --ttl 72h': 'create an invitation for each and print its address',
  },
  details: `
    An invitation gives one person a key with full access to the account's tunnels.`,
  read: (line) => ({ ...line.operands, ttl: line.ttl(), ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const made = await api.inviteToTeam(command.labels, command.ttl);
    await printOnce(output, command.json ? jsonLine(made) : invitesText(made), async () => {
      for (const { id } of made.invites) await api.revokeFromTeam(id);
    });
  },
});

const revokeCommand = defineCommand({
  name: 'team revoke',
  operands: {
    who: { shown: 'ID|LABEL', missing: 'Specify a label or an id, as shown by "culvert team list".' },
  },
  summary: 'Revoke a key or an invitation',
  options: COMMON,
  examples: {
    'culvert team revoke ann':
      "revoke ann's key or invitation, and close the connections opened with the key",
  },
  read: (line) => ({ ...line.operands, ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const { id, label } = findMember(await api.listTeam(), command.who);
    await api.revokeFromTeam(id);
    output.out(command.json ? jsonLine({ id, label, status: 'revoked' }) : `Revoked "${label}".\n`);
  },
});

const auditCommand = defineCommand({
  name: 'team audit',
  summary: 'Show what the people of the account have done',
  options: COMMON,
  examples: {
    'culvert team audit': "show who closed, extended or changed somebody else's tunnel, and who joined",
  },
  read: (line) => line.access(),
  async run(command, { output }) {
    const audit = await apiOf(command).teamAudit();
    output.out(command.json ? jsonLine(audit) : auditText(audit));
  },
});

export const teamCommands = {
  name: 'team',
  summary: 'Manage the people of your account',
  details: `
    These commands need an owner's key, which the operator of the relay creates with "culvert-relay key create --owner".
    Only an owner can invite or revoke people. "culvert list" shows who opened each tunnel.`,
  fallback: 'list',
  commands: [listCommand, inviteCommand, revokeCommand, auditCommand],
} as const satisfies Group;

/** Thrown for somebody who is not in the account, or a label that several keys have. */
class NoSuchMember extends Error {}

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
  return table([['LABEL', 'ROLE', 'LAST USED', 'ID'], ...rows]);
}

function invitesText({ invites }: NewTeamInvites): string {
  return invites.map(({ label, url }) => `${label}\t${url}\n`).join('');
}

function auditText({ acts }: TeamAudit): string {
  if (acts.length === 0) return 'Nothing has been recorded yet.\n';
  const rows = acts.map(({ at, action, subject, detail }) => [localTime(at), action, subject, detail]);
  return table([['TIME', 'ACTION', 'SUBJECT', 'DETAIL'], ...rows]);
}

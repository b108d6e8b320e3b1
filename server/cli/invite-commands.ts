/** `culvert-relay invite …` (README.md). */
import { INVITE_DEFAULT_TTL_SECONDS } from '../administration/rules.ts';
import { viewInvitation, viewNewInvitation } from '../administration/views.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { INVITE_TTL_CEILING_SECONDS, INVITES_AT_ONCE_MAX } from '../limits.ts';
import { readPlan } from './account-commands.ts';
import {
  administering,
  readAccountName,
  readAdministration,
  readCount,
  readTtl,
  table,
} from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** `invite create`; throws CommandError. */
export async function createInvitesCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['account', 'plan', 'ttl', 'count']);
  const name = readAccountName(flags['account'], '--account');
  const plan = flags['plan'] === undefined ? 'dev' : readPlan(flags['plan']);
  const ttl = readTtl(flags['ttl'], '--ttl', INVITE_TTL_CEILING_SECONDS) ?? INVITE_DEFAULT_TTL_SECONDS;
  const count = flags['count'] === undefined ? 1 : readCount(flags['count'], '--count', INVITES_AT_ONCE_MAX);
  const base = relayAddress(config);
  const made = await administering(shell, config, (administration) =>
    administration.invite(name, { plan, ttl, count }),
  );
  const views = made.map((invitation) => viewNewInvitation(invitation, name, base));
  if (json) return shell.out(JSON.stringify({ invites: views }));
  const end = views[0]?.expires_at ?? '';
  shell.err(`Each is good once, until ${end}, for a key of the account "${name}". Send each to one person:`);
  for (const { url } of views) shell.out(url);
}

/** `invite list`; throws CommandError. */
export async function listInvitesCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, json } = readAdministration(shell, argv, []);
  const open = await administering(shell, config, (administration) => administration.listInvitations());
  const views = open.map(viewInvitation);
  if (json) return shell.out(JSON.stringify({ invites: views }));
  if (views.length === 0) return shell.out('There are no open invitations. Make one with: invite create');
  const rows = views.map(({ id, account, expires_at: end }) => [account, end, id]);
  for (const line of table([['ACCOUNT', 'EXPIRES', 'ID'], ...rows])) shell.out(line);
}

/** `invite revoke ID`; throws CommandError. */
export async function revokeInviteCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], { operands: 1 });
  const [id] = operands;
  if (id === undefined) throw usageError('invite revoke takes the id of an invitation; invite list shows it');
  await administering(shell, config, (administration) => administration.revokeInvitation(id));
  if (json) shell.out(JSON.stringify({ id, status: 'revoked' }));
  else shell.out('Revoked the invitation: nobody can take it any more.');
}

/** What invitations begin with. */
function relayAddress(config: Config): string {
  if (config.publicUrl === undefined && config.port === 0)
    throw usageError('the address of the relay is not known: give it with CULVERT_PUBLIC_URL');
  return publicUrlOf(config, config.port).origin;
}

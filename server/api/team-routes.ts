/** Routes of `/v1/team`, for owners of an account (protocol.md section 15). */
import { ApiError, API_ERRORS, invalidAdminRequest } from '../../shared/errors.ts';
import { objectSchema, onlyValue, UUID } from '../../shared/fields.ts';
import { invitationUrl } from '../../shared/invitations.ts';
import {
  NEW_TEAM_INVITES,
  type NewTeamInvites,
  TEAM,
  TEAM_AUDIT,
  type TeamAudit,
  type Team as TeamView,
  teamInviteSchema,
} from '../../shared/team.ts';
import { shownScope } from '../accounts/api-keys.ts';
import { Team } from '../accounts/team.ts';
import * as rules from '../administration/admin-actions.ts';
import { timestampOr } from '../administration/views.ts';
import {
  AUDIT_MAX,
  INVITE_TTL_CEILING_SECONDS,
  KEY_LABEL_MAX_LENGTH,
  TEAM_INVITES_AT_ONCE_MAX,
} from '../limits.ts';
import { type ApiDeps, idOf, rfc3339, type Route } from './route.ts';

export function teamRoutes({ admin, clock, addresses, writes }: ApiDeps): Route[] {
  const team = new Team({ store: admin.store, clock });
  const { origin } = addresses.publicUrl;
  return [
    {
      method: 'get',
      path: '/v1/team',
      id: 'listTeam',
      tag: 'Team',
      summary: "List the account's keys and open invitations",
      caller: 'ownerKey',
      results: { 200: ['The keys and invitations.', TEAM.schema] },
      async handle(ctx): Promise<TeamView> {
        const { keys, invitations } = await team.list(ctx.state.account);
        ctx.set('Cache-Control', 'no-store');
        return {
          keys: keys.map(({ id, label, hint, scope, createdAt, lastUsedAt, expiresAt }) => ({
            id,
            label,
            hint,
            scope: shownScope(scope),
            created_at: rfc3339(createdAt),
            last_used_at: timestampOr(null, lastUsedAt),
            expires_at: timestampOr(null, expiresAt),
          })),
          invites: invitations.map(({ id, label, expiresAt }) => ({
            id,
            label,
            expires_at: rfc3339(expiresAt),
          })),
        };
      },
    },
    {
      method: 'post',
      path: '/v1/team/invites',
      id: 'inviteToTeam',
      tag: 'Team',
      summary: 'Invite people to the account',
      description:
        'Each invitation gives one person a key for everything of the account, except for its people.',
      caller: 'ownerKey',
      body: { schema: teamInviteSchema(TEAM_INVITES_AT_ONCE_MAX, KEY_LABEL_MAX_LENGTH), required: true },
      results: { 201: ['The invitations.', NEW_TEAM_INVITES.schema] },
      errors: ['invalidAdminRequest', 'rateLimited'],
      async handle(ctx): Promise<NewTeamInvites> {
        const { account, caller } = ctx.state;
        const wanted = readInvite(ctx.request.body);
        const made = await writes.run(account.id, () => team.invite(account, caller, wanted));
        ctx.set('Cache-Control', 'no-store');
        return {
          invites: made.map(({ token, record: { id, label, expiresAt } }) => {
            return { id, label, expires_at: rfc3339(expiresAt), url: invitationUrl(origin, token) };
          }),
        };
      },
    },
    {
      method: 'get',
      path: '/v1/team/audit',
      id: 'teamAudit',
      tag: 'Team',
      summary: "List what the account's people and the operator have done",
      description:
        'Changes that a key makes to tunnels created with another key of the account, invitations, revocations, and changes to the account itself.',
      caller: 'ownerKey',
      results: { 200: ['The newest actions.', TEAM_AUDIT.schema] },
      async handle(ctx): Promise<TeamAudit> {
        const acts = await team.audit(ctx.state.account, AUDIT_MAX);
        ctx.set('Cache-Control', 'no-store');
        return {
          acts: acts.map(({ at, actor, action, subject, detail, accountId }) => ({
            at: rfc3339(at),
            // Neither the operator's accounts on that machine nor keys of other accounts.
            actor: accountId === ctx.state.account.id || actor.startsWith('invite:') ? actor : 'operator',
            action,
            subject,
            detail,
          })),
        };
      },
    },
    {
      method: 'delete',
      path: '/v1/team/{id}',
      id: 'revokeFromTeam',
      tag: 'Team',
      summary: 'Revoke a key or an invitation of the account',
      description: 'All connections that clients opened with the key are closed.',
      caller: 'ownerKey',
      results: {
        200: [
          'It is revoked.',
          objectSchema({ id: UUID.schema, status: onlyValue('revoked') }, 'RevokedFromTeam'),
        ],
      },
      errors: ['noSuch', 'rateLimited'],
      async handle(ctx) {
        const { account, caller } = ctx.state;
        const id = idOf(ctx);
        await writes.run(account.id, () => team.revoke(account, caller, id));
        return { id, status: 'revoked' };
      },
    },
  ];
}

/** @throws ApiError 400 */
function readInvite(body: unknown): { readonly labels: readonly string[]; readonly ttl: number } {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  const { labels, ttl } = body as { readonly labels?: unknown; readonly ttl?: unknown };
  return { labels: readLabels(labels), ttl: readTtl(ttl) };
}

function readLabels(labels: unknown): readonly string[] {
  const isList = Array.isArray(labels) && labels.length > 0 && labels.length <= TEAM_INVITES_AT_ONCE_MAX;
  if (!isList || !labels.every((label) => rules.isLabel(label) && label.trim() !== ''))
    throw new ApiError(
      invalidAdminRequest(
        'labels',
        `a list of 1 to ${TEAM_INVITES_AT_ONCE_MAX} labels, each of 1 to ${KEY_LABEL_MAX_LENGTH} characters without control characters`,
      ),
    );
  return labels;
}

/** @returns seconds */
function readTtl(ttl: unknown): number {
  if (ttl === undefined || ttl === null) return rules.INVITE_DEFAULT_TTL_SECONDS;
  const seconds = rules.readTtl(ttl, INVITE_TTL_CEILING_SECONDS);
  if (seconds !== undefined) return seconds;
  throw new ApiError(invalidAdminRequest('ttl', rules.ttlRule(INVITE_TTL_CEILING_SECONDS)));
}

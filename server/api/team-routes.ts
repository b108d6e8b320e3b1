/** Routes of `/v1/team`, for owners of an account (protocol.md section 15), and of invitations. */
import type { Router } from '@koa/router';
import { typedDuration } from '../../shared/duration.ts';
import { ApiError, API_ERRORS, type Clause, withValues } from '../../shared/errors.ts';
import { type JsonObject, objectSchema, onlyValue, UUID } from '../../shared/fields.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import {
  invitationUrl,
  MACHINE_MAX_LENGTH,
  type OpenInvite,
  signInLink,
  TAKEN_INVITE,
  type TakenInvite,
  NEW_TEAM_INVITES,
  type NewTeamInvites,
  TEAM,
  TEAM_AUDIT,
  type TeamAudit,
  type Team as TeamView,
  teamInviteSchema,
} from '../../shared/team.ts';
import { hasUnprintable } from '../../shared/unprintable.ts';
import { VERSION } from '../../shared/version.ts';
import { shownScope } from '../accounts/api-keys.ts';
import { Team } from '../accounts/team.ts';
import * as rules from '../administration/given.ts';
import { INVITE_TTL_CEILING_SECONDS, KEY_LABEL_MAX_LENGTH } from '../administration/given.ts';
import { timestamp, timestampOr } from '../administration/views.ts';
import type { System } from '../downloads/downloads.ts';
import { AUDIT_MAX, type OpenInvitation } from '../store/records.ts';
import { installLines } from './download-routes.ts';
import type { ApiContext, ApiState } from './guards.ts';
import { respondWithPage, wantsPage } from './pages.ts';
import { type ApiDeps, idOf, type Route } from './route.ts';

/** Maximum number of people that an owner can invite in one request. */
const TEAM_INVITES_AT_ONCE_MAX = 100;

export function teamRoutes({ admin, clock, addresses, writes }: ApiDeps): Route[] {
  const team = new Team({ store: admin.store, clock });
  const { origin } = addresses.publicUrl;
  return [
    {
      call: 'get /v1/team',
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
            created_at: timestamp(createdAt),
            last_used_at: timestampOr(null, lastUsedAt),
            expires_at: timestampOr(null, expiresAt),
          })),
          invites: invitations.map(({ id, label, expiresAt }) => ({
            id,
            label,
            expires_at: timestamp(expiresAt),
          })),
        };
      },
    },
    {
      call: 'post /v1/team/invites',
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
            return { id, label, expires_at: timestamp(expiresAt), url: invitationUrl(origin, token) };
          }),
        };
      },
    },
    {
      call: 'get /v1/team/audit',
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
            at: timestamp(at),
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
      call: 'delete /v1/team/{id}',
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
      errors: ['noSuch'],
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

const LABELS: Clause = {
  code: 'labels',
  text: `a list of 1 to ${TEAM_INVITES_AT_ONCE_MAX} labels, each of 1 to ${KEY_LABEL_MAX_LENGTH} characters without control characters`,
  values: { max: TEAM_INVITES_AT_ONCE_MAX, length: KEY_LABEL_MAX_LENGTH },
};

function readLabels(labels: unknown): readonly string[] {
  const isList = Array.isArray(labels) && labels.length > 0 && labels.length <= TEAM_INVITES_AT_ONCE_MAX;
  if (!isList || !labels.every((label) => rules.isLabel(label) && label.trim() !== ''))
    throw new ApiError(withValues(API_ERRORS.invalidAdminRequest, { field: 'labels', rule: LABELS }));
  return labels;
}

/** @returns seconds */
function readTtl(ttl: unknown): number {
  if (ttl === undefined || ttl === null) return rules.INVITE_DEFAULT_TTL_SECONDS;
  const seconds = rules.readTtl(ttl, INVITE_TTL_CEILING_SECONDS);
  if (seconds !== undefined) return seconds;
  const max = typedDuration(INVITE_TTL_CEILING_SECONDS);
  const rule: Clause = { code: 'duration', text: rules.ttlRule(INVITE_TTL_CEILING_SECONDS), values: { max } };
  throw new ApiError(withValues(API_ERRORS.invalidAdminRequest, { field: 'ttl', rule }));
}

/** Routes of invitations at the relay's own address, which need no key (protocol.md section 13). */
export function inviteRoutes({ invitations, addresses }: ApiDeps): Route[] {
  return [
    {
      call: 'post /v1/invites/{token}',
      id: 'takeInvitation',
      tag: 'Invitations',
      summary: 'Accept an invitation',
      description:
        'No key is needed. An invitation works once. Opening its address in a browser shows a page and does not use up the invitation.',
      caller: 'anybody',
      body: { schema: TAKE_SCHEMA, required: false },
      results: { 201: ['The key, which is not shown again.', TAKEN_INVITE.schema] },
      errors: ['invalidMachine', 'invitationNotFound', 'rateLimited', 'unavailable'],
      async handle(ctx): Promise<TakenInvite> {
        const machine = readMachine(ctx.request.body);
        const { key, record, account } = await invitations.take(idOf(ctx), machine, addressOf(ctx));
        ctx.set('Cache-Control', 'no-store');
        return { id: record.id, account: account.name, key, relay: addresses.publicUrl.origin };
      },
    },
  ];
}

/** Pages for people, which the OpenAPI document leaves out. */
export function addPages(router: Router<ApiState>, deps: ApiDeps): void {
  const { invitations, addresses, contact, downloadPage, downloads } = deps;
  const options = { publicUrl: addresses.publicUrl, contact, downloadPage };

  router.get('/', function showRelay(ctx: ApiContext): void {
    if (!wantsPage(ctx)) throw new ApiError(API_ERRORS.notFound);
    respondWithPage(ctx, 200, relayPage(addresses.publicUrl, contact));
  });

  router.get('/invite/:token', async function showInvitation(ctx: ApiContext): Promise<void> {
    const token = idOf(ctx);
    try {
      const found = await invitations.find(token, addressOf(ctx));
      if (wantsPage(ctx)) {
        const systems = (await downloads?.systems()) ?? [];
        return respondWithPage(ctx, 200, invitationPage(found, token, { ...options, systems }));
      }
      const { account, expiresAt } = found;
      ctx.set('Cache-Control', 'no-store');
      ctx.body = { account: account.name, expires_at: timestamp(expiresAt) } satisfies OpenInvite;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404 || !wantsPage(ctx)) throw error;
      respondWithPage(ctx, 404, endedInvitationPage(options));
    }
  });
}

/** Client address of the request; the edge sets the field. */
export function addressOf(ctx: ApiContext): string | undefined {
  return ctx.req.headers['x-forwarded-for']?.toString();
}

export const MACHINE_SCHEMA: JsonObject = {
  type: ['string', 'null'],
  maxLength: MACHINE_MAX_LENGTH,
  description: "the machine's name, which becomes the key's label; control characters are not allowed",
};

const TAKE_SCHEMA = objectSchema(
  {
    'machine?': MACHINE_SCHEMA,
  },
  'TakeInvitation',
);

/** @throws ApiError 400 */
export function readMachine(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  const machine = 'machine' in body ? body.machine : undefined;
  if (machine === undefined || machine === null) return '';
  if (typeof machine !== 'string' || machine.length > MACHINE_MAX_LENGTH || hasUnprintable(machine))
    throw new ApiError(API_ERRORS.invalidMachine);
  return machine.trim();
}

/* The page of an invitation. Opening it does not use it up, because programs that preview links also open it. */

/** How the command is run. Once it is in npm's registry, it is run with npx and needs no installation. */
const CULVERT = 'culvert';

interface InvitationPageOptions {
  /** the relay's own address */
  readonly publicUrl: URL;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** address of Culvert's download page */
  readonly downloadPage: string | undefined;
  /** for which the relay has a program */
  readonly systems: readonly System[];
}

/** @param token of the invitation */
function invitationPage(
  { account, expiresAt }: OpenInvitation,
  token: string,
  { publicUrl, contact, downloadPage, systems }: InvitationPageOptions,
): string {
  const address = escapeHtml(`${publicUrl.origin}/invite/${token}`);
  const app = `<p><a class="go" href="${escapeHtml(signInLink(`${publicUrl.origin}/invite/${token}`))}">Open in Culvert</a></p>`;
  const { unix, windows } = installLines(systems, publicUrl.origin, token);
  const whereFrom =
    downloadPage === undefined
      ? 'Ask the person who sent you this address where to download it.'
      : `<a href="${escapeHtml(downloadPage)}">Get Culvert</a>, then come back to this page.`;
  const steps =
    unix === undefined && windows === undefined
      ? `On the computer that you want to use, with the Culvert app installed:</p>
${app}
<p>Or run this command in a terminal, here for a server on port 3000:</p>
<p><code>${CULVERT} http 3000 --relay ${address}</code></p>
<p>To store the key without opening a tunnel:</p>
<p><code>${CULVERT} login ${address}</code></p>
<p>If Culvert is not installed there yet: ${whereFrom}</p>`
      : `On the computer that you want to use, run this line. It installs Culvert for you alone, and signs you in.</p>
${lineOf('In a terminal of Linux or macOS:', unix)}${lineOf('In PowerShell on Windows:', windows)}<p>Then <code>${CULVERT} http 3000</code> gives a server on port 3000 a public address.</p>
<p>If Culvert is installed there, run <code>${CULVERT} login ${address}</code>, or open the app:</p>
${app}`;
  const end = new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ');
  return page(
    'You are invited',
    `<p>Culvert gives a server on your computer a public address for as long as you like: for example, for a site under development, a webhook or a demo. Nothing is uploaded, and you can stop it at any time.</p>
<p>This invitation lets you use the relay <strong>${escapeHtml(publicUrl.host)}</strong> as <strong>${escapeHtml(account.name)}</strong>. ${steps}
<p>Either way, Culvert creates an API key for you and stores it on that computer. The invitation works once, until ${end} UTC, for anyone who has this address. Do not share it.</p>`,
    undefined,
    contact,
  );
}

function lineOf(where: string, line: string | undefined): string {
  return line === undefined ? '' : `<p>${where}</p>\n<p><code>${escapeHtml(line)}</code></p>\n`;
}

/** The page of an invitation that is unknown, taken or has ended. */
function endedInvitationPage({ contact }: Pick<InvitationPageOptions, 'contact'>): string {
  return page(
    'This invitation is no longer valid',
    `<p>It was already used, it has expired, or its address is incomplete. Ask the person who sent it to you for a new one.</p>
<p>If you have already used it on this computer, you are signed in: <code>culvert http 3000</code> gives a server on port 3000 a public address.</p>`,
    undefined,
    contact,
  );
}

/**
 * The page at the relay's own address.
 *
 * @param contact address of a link for complaints
 */
function relayPage(publicUrl: URL, contact: string | undefined): string {
  const address = escapeHtml(publicUrl.origin);
  return page(
    'A Culvert relay',
    `<p>This relay gives public addresses to servers on other people's computers. The pages pass through this relay, but do not belong to it.</p>
<p>If someone gave you the address of a page, open the complete address. There is nothing to see at this address.</p>
<p>If you have an invitation, open it in this browser. If you have an API key, run this on your computer:</p>
<p><code>culvert login --relay ${address}</code></p>
<p><code>culvert http 3000</code></p>`,
    `Version ${VERSION}`,
    contact,
  );
}

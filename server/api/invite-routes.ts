/** Routes of invitations, and of the page at the relay's own address: whoever asks needs no key. */
import type { Router } from '@koa/router';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { MACHINE_MAX_LENGTH, type TakenInvite } from '../../shared/invitations.ts';
import { hasUnprintable } from '../../shared/unprintable.ts';
import type { Invitations } from '../accounts/invitations.ts';
import { endedInvitationPage, invitationPage, type InvitationPageOptions } from './pages/invitation-page.ts';
import { relayPage } from './pages/relay-page.ts';
import { respondWithPage, wantsPage } from './pages/respond.ts';
import { readBody } from './request-body.ts';
import type { ApiContext, ApiState } from './state.ts';

export interface InviteRoutesOptions extends InvitationPageOptions {
  readonly invitations: Pick<Invitations, 'find' | 'take'>;
}

export function addInviteRoutes(router: Router<ApiState>, options: InviteRoutesOptions): void {
  const { invitations, publicUrl, contact } = options;

  async function show(ctx: ApiContext): Promise<void> {
    const token = tokenOf(ctx);
    try {
      const found = await invitations.find(token, addressOf(ctx));
      if (wantsPage(ctx)) return respondWithPage(ctx, 200, invitationPage(found, token, options));
      const { account, expiresAt } = found;
      ctx.set('Cache-Control', 'no-store');
      ctx.body = { account: account.name, expires_at: new Date(expiresAt).toISOString() };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404 || !wantsPage(ctx)) throw error;
      respondWithPage(ctx, 404, endedInvitationPage(options));
    }
  }

  async function take(ctx: ApiContext): Promise<void> {
    const machine = readMachine(ctx.request.body);
    const { key, record, account } = await invitations.take(tokenOf(ctx), machine, addressOf(ctx));
    ctx.status = 201;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { id: record.id, account: account.name, key, relay: publicUrl.origin } satisfies TakenInvite;
  }

  function showRelay(ctx: ApiContext): void {
    if (!wantsPage(ctx)) throw new ApiError(API_ERRORS.notFound);
    respondWithPage(ctx, 200, relayPage(publicUrl, contact));
  }

  router.get('/', showRelay);
  router.get('/invite/:token', show);
  router.post('/v1/invites/:token', readBody(), take);
}

/** As it was sent: `ctx.params` would decode it. */
function tokenOf(ctx: ApiContext): string {
  return ctx.captures?.[0] ?? '';
}

/** The edge makes sure that it is where the request comes from. */
function addressOf(ctx: ApiContext): string | undefined {
  return ctx.req.headers['x-forwarded-for']?.toString();
}

/** @throws ApiError 400 */
function readMachine(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  const machine = 'machine' in body ? body.machine : undefined;
  if (machine === undefined || machine === null) return '';
  if (typeof machine !== 'string' || machine.length > MACHINE_MAX_LENGTH || hasUnprintable(machine))
    throw new ApiError(API_ERRORS.invalidMachine);
  return machine.trim();
}

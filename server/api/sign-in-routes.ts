/** The steps of a sign-in at the relay's own host (protocol.md section 11.5), for browsers. */
import type { Router } from '@koa/router';
import type { Next } from 'koa';
import { API_ERRORS, ApiError, VISITOR_ERRORS } from '../../shared/errors.ts';
import { page } from '../../shared/page.ts';
import { CALLBACK_PATH, type SignIn, SIGN_IN_PATH, type Step } from '../access/sign-in.ts';
import { networkOf } from '../address-network.ts';
import { SIGN_IN_RETRY_SECONDS, signInHtml } from '../edge/sign-in-pages.ts';
import type { ApiContext, ApiState } from './guards.ts';
import { browserOf, respondWithPage, wantsPage } from './pages.ts';

/** @param contact address of a link for complaints */
export function addSignIn(router: Router<ApiState>, signIn: SignIn, contact: string | undefined): void {
  router.get([SIGN_IN_PATH, CALLBACK_PATH], refuseHead);

  router.get(SIGN_IN_PATH, async function beginSignIn(ctx: ApiContext): Promise<void> {
    const { value, cookie } = browserOf(ctx, signIn.isSecure);
    const step = await signIn.depart(parametersOf(ctx), value);
    if (step.kind === 'onward') ctx.set('Set-Cookie', cookie);
    respond(ctx, step, contact);
  });

  router.get(CALLBACK_PATH, async function finishSignIn(ctx: ApiContext): Promise<void> {
    const { values } = browserOf(ctx, signIn.isSecure);
    // The edge adds the field unless the request comes from this machine.
    const network = networkOf(ctx.get('x-forwarded-for'));
    respond(ctx, await signIn.finish(parametersOf(ctx), values, network), contact);
  });
}

/** A HEAD is no visit, and must not use up what is good once. */
async function refuseHead(ctx: ApiContext, next: Next): Promise<void> {
  if (ctx.method === 'HEAD') throw new ApiError(API_ERRORS.methodNotAllowed, { Allow: 'GET' });
  await next();
}

function parametersOf(ctx: ApiContext): URLSearchParams {
  return new URLSearchParams(ctx.querystring);
}

function respond(ctx: ApiContext, step: Step, contact: string | undefined): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  if (step.kind === 'onward') {
    ctx.body = null;
    ctx.status = 303;
    // As it is: Koa would write it in another way.
    return ctx.set('Location', step.location);
  }
  const code = `sign-in-${step.kind}` as const;
  const { status, title, text } = VISITOR_ERRORS[code];
  ctx.set('Culvert-Error', code);
  if (step.kind === 'unavailable') ctx.set('Retry-After', String(SIGN_IN_RETRY_SECONDS));
  if (wantsPage(ctx))
    return respondWithPage(ctx, status, page(title, signInHtml(code, step.again), undefined, contact));
  ctx.status = status;
  ctx.body = { error: text, code };
}

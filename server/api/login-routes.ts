/** Keys for people who sign in: the request of a program, and the page where a person approves it (section 13.1). */
import type { Router } from '@koa/router';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { objectSchema } from '../../shared/fields.ts';
import { LOGIN, LOGIN_DIGEST, type Login, loginCode } from '../../shared/logins.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import { ARRIVAL_PARAMETER } from '../access/sign-in.ts';
import { LOGIN_PLACE, LOGIN_SECONDS, type LoginRequest } from '../accounts/logins.ts';
import { shownVisitor } from '../access/access-check.ts';
import { button } from '../edge/sign-in-pages.ts';
import type { ApiContext, ApiState } from './guards.ts';
import { browserOf, respondWithPage } from './pages.ts';
import type { ApiDeps, Route } from './route.ts';
import { addressOf, MACHINE_SCHEMA, readMachine } from './team-routes.ts';

const PAGE_PATH = '/auth/login';
const PLACE = { tunnelId: LOGIN_PLACE, host: null, prefix: '' };

export function loginRoutes({ logins, signIn, addresses }: ApiDeps): Route[] {
  return [
    {
      call: 'post /v1/logins',
      id: 'beginLogin',
      tag: 'Invitations',
      summary: 'Ask for a key for a person who signs in',
      description:
        'No key is needed. The person opens the address, signs in at the identity provider and approves. The token whose digest was sent is an invitation from then on. Relays where nobody gets a key this way respond with 404.',
      caller: 'anybody',
      body: { schema: BEGIN_SCHEMA, required: true },
      results: { 201: ['The page for the person.', LOGIN.schema] },
      errors: ['invalidMachine', 'notFound'],
      handle(ctx): Login {
        const provider = signIn.offered;
        if (provider === undefined || !logins.isOffered) throw new ApiError(API_ERRORS.notFound);
        const ticket = logins.begin(readRequest(ctx.request.body, addressOf(ctx)));
        ctx.set('Cache-Control', 'no-store');
        const url = new URL(`${PAGE_PATH}/${ticket}`, addresses.publicUrl);
        return { url: url.href, provider, expires_in: LOGIN_SECONDS };
      },
    },
  ];
}

const BEGIN_SCHEMA = objectSchema(
  {
    digest: {
      type: 'string',
      pattern: LOGIN_DIGEST.source,
      description: 'SHA-256 in hex of a token of 32 letters, digits, `-` and `_` that only the program knows',
    },
    'machine?': MACHINE_SCHEMA,
  },
  'BeginLogin',
);

/** @throws ApiError 400 */
function readRequest(body: unknown, address: string | undefined): LoginRequest {
  const machine = readMachine(body);
  const { digest } = body as { readonly digest?: unknown };
  if (typeof digest !== 'string' || !LOGIN_DIGEST.test(digest)) throw new ApiError(API_ERRORS.invalidBody);
  return { digest, machine, address };
}

/** The page, which OpenAPI leaves out. */
export function addLogin(router: Router<ApiState>, { logins, signIn, contact }: ApiDeps): void {
  function respond(ctx: ApiContext, status: number, title: string, html: string): void {
    respondWithPage(ctx, status, page(title, html, undefined, contact), "'self'");
  }

  router.get(`${PAGE_PATH}/:ticket`, async function showLogin(ctx: ApiContext): Promise<void> {
    const ticket = ctx.params['ticket'] ?? '';
    const request = logins.open(ticket);
    if (request === undefined) return respond(ctx, 400, 'Too late', ENDED);
    const browser = browserOf(ctx, signIn.isSecure);
    const again = `${PAGE_PATH}/${ticket}`;
    const begin = (isOther: boolean) => signIn.begin({ ...PLACE, target: again }, browser.value, isOther);
    ctx.set('Set-Cookie', browser.cookie);
    const arrival = new URLSearchParams(ctx.querystring).get(ARRIVAL_PARAMETER);
    if (arrival === null) {
      ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
      return ctx.redirect(begin(false));
    }
    const visitor = await signIn.arrive(arrival, PLACE, browser.values);
    if (visitor === undefined)
      return respond(ctx, 400, 'The sign-in did not work', button(again, 'Sign in again'));
    const account = logins.accountFor(visitor);
    const person = shownVisitor(visitor).slice('user:'.length);
    if (account === undefined)
      return respond(ctx, 403, 'You have no account here', refusedHtml(person, begin(true)));
    const offer = logins.offer(request, visitor, account, browser.value);
    respond(ctx, 200, 'Sign in to Culvert', offerHtml(request, { person, account, offer }));
  });

  router.post(`${PAGE_PATH}/:offer`, async function approveLogin(ctx: ApiContext): Promise<void> {
    const offer = ctx.params['offer'] ?? '';
    if (!(await logins.approve(offer, browserOf(ctx, signIn.isSecure).values)))
      return respond(ctx, 400, 'Too late', ENDED);
    respond(ctx, 200, 'You are signed in', '<p>Go back to your terminal. You can close this page.</p>');
  });
}

const ENDED =
  '<p>This request has ended or was used. Run <code>culvert login</code> again. If you did not run it, close this page.</p>';

function refusedHtml(person: string, other: string): string {
  return `<p>You signed in as ${escapeHtml(person)}. Ask the operator of this relay for an account.</p>
${button(other, 'Sign in as somebody else')}`;
}

/** Whoever sends somebody the address of this page gets that person's key: the code shows whose terminal it is. */
function offerHtml(
  { digest, machine, address }: LoginRequest,
  { person, account, offer }: { readonly person: string; readonly account: string; readonly offer: string },
): string {
  const from = address ?? 'the machine of the relay';
  const called = machine === '' ? '' : `, a computer that calls itself “${escapeHtml(machine)}”`;
  return `<p>A program asks for an API key of the account <b>${escapeHtml(account)}</b>, for ${escapeHtml(person)}.</p>
<p><b><code>${loginCode(digest)}</code></b></p>
<p>Approve it only if your own terminal shows this code. The request came from ${escapeHtml(from)}${called}.</p>
<form method="post" action="${PAGE_PATH}/${offer}"><button class="go">Yes, sign in</button></form>
<p>If you did not run <code>culvert login</code> just now, or somebody sent you here, close this page.</p>`;
}

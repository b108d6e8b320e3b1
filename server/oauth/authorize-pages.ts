/** The pages on which a person decides about an agent. They run no script; each decision is a form. */
import { AGENTS_MAX } from '../../shared/agents.ts';
import { VISITOR_ERRORS } from '../../shared/errors.ts';
import { escapeHtml } from '../../shared/page.ts';
import type { ApprovalState } from '../access/approval-requests.ts';
import { type AuthorizationRequest, returnAddress } from './authorization-request.ts';

/** Names of the fields of the forms. */
export const FORM_FIELD = 'culvert_form';
export const WAY_FIELD = 'culvert_way';
export const PASSWORD_FIELD = 'culvert_password';
export const LINK_FIELD = 'culvert_link';
export const PROOF_FIELD = 'culvert_proof';

/** What a form asks for. `allow` comes with a proof that the person may be admitted, or that the owner has approved. */
export const WAYS = [
  'cancel',
  'password',
  'link',
  'opened',
  'sign-in',
  'sign-in-other',
  'knock',
  'allow',
] as const;
export type Way = (typeof WAYS)[number];

/** Seconds after which the page of a person who waits looks again. */
const LOOK_SECONDS = 3;

/** A page, as HTML. */
export interface AuthorizePage {
  readonly status: number;
  readonly title: string;
  readonly html: string;
  /** seconds after which the browser opens the address again */
  readonly refresh?: number;
}

/** What the forms of a page need. */
export interface PageContext {
  readonly request: AuthorizationRequest;
  /** path and query that the forms are sent to */
  readonly action: string;
  /** value of {@link FORM_FIELD} */
  readonly form: string;
  readonly issuer: string;
}

/** How a person can show that they may be admitted. */
export interface OfferedWays {
  /** name of the identity provider; `undefined` if the tunnel does not take people who sign in there */
  readonly provider: string | undefined;
  readonly password: boolean;
  readonly links: boolean;
  readonly knock: boolean;
}

/** Why the first page is shown again. */
export type Complaint =
  'password' | 'link' | 'not-opened' | 'attempts' | 'waiting' | 'sign-in' | 'unavailable';

const COMPLAINTS: Readonly<Record<Complaint, string>> = {
  password: 'Wrong password. Try again.',
  link: 'This link does not give access, or has expired.',
  'not-opened': 'This browser has not opened a link to this address, or the link has expired.',
  attempts: 'Too many wrong passwords were entered. Try again in a minute.',
  waiting: 'Too many people are already waiting for an answer. Try again in a few minutes.',
  'sign-in': 'The sign-in could not be completed. Try again.',
  unavailable:
    'Nobody can sign in right now, because the identity provider does not respond. Try again in a moment.',
};

/** Of a page with a complaint: as at the tunnel itself. */
const STATUSES: Partial<Record<Complaint, number>> = { attempts: 429, waiting: 429, unavailable: 503 };

/** Asks the person to decide. */
export function askPage(context: PageContext, offered: OfferedWays, complaint?: Complaint): AuthorizePage {
  const [first = '', ...others] = waysOf(context, offered);
  const alert =
    complaint === undefined ? '' : `<p role="alert"><strong>${COMPLAINTS[complaint]}</strong></p>\n`;
  const isOther = complaint !== undefined && others.length > 0;
  const rest =
    others.length === 0
      ? ''
      : `<details${isOther ? ' open' : ''}><summary>Other ways</summary>\n${others.join('\n')}\n</details>\n`;
  return page(
    `${factsOf(context)}\n${alert}${first}\n${rest}${cancelForm(context)}`,
    complaint === undefined ? 200 : (STATUSES[complaint] ?? 401),
  );
}

function waysOf(context: PageContext, { provider, password, links, knock }: OfferedWays): string[] {
  const parts: string[] = [];
  if (provider !== undefined)
    parts.push(form(context, 'sign-in', button(`Sign in with ${escapeHtml(provider)}`)));
  if (password)
    parts.push(
      form(
        context,
        'password',
        `<p><label for="word">Password of this address</label>
<input id="word" name="${PASSWORD_FIELD}" type="password" maxlength="512" required autocomplete="off"></p>
${button('Allow')}`,
      ),
    );
  if (links)
    parts.push(
      form(
        context,
        'link',
        `<p><label for="link">The link that you were sent</label>
<input id="link" name="${LINK_FIELD}" type="url" maxlength="4096" required autocomplete="off"></p>
${button('Allow')}`,
      ) + form(context, 'opened', button('I have opened a link in this browser')),
    );
  if (knock)
    parts.push(
      form(
        context,
        'knock',
        `<p>The owner of this address decides, and sees your IP address and which browser you are using.</p>
${button('Ask the owner')}`,
      ),
    );
  return parts;
}

/** The person has shown that they may be admitted, or the owner has approved. @param proof value of {@link PROOF_FIELD} */
export function allowPage(
  context: PageContext,
  proof: string,
  said: string,
  isSignedIn: boolean,
): AuthorizePage {
  const hidden = `<input type="hidden" name="${PROOF_FIELD}" value="${escapeHtml(proof)}">\n`;
  const other = isSignedIn ? form(context, 'sign-in-other', quietButton('Sign in as somebody else')) : '';
  return page(
    `${factsOf(context)}\n<p role="status">${said}</p>\n${form(context, 'allow', hidden + button('Allow'))}\n${other}${cancelForm(context)}`,
  );
}

/** Shown after a sign-in of somebody whom the rules of the tunnel do not name. */
export function notAdmittedPage(context: PageContext, name: string): AuthorizePage {
  return {
    status: 403,
    title: 'You do not have access',
    html: `<p>You signed in as <strong>${escapeHtml(name)}</strong>, but the owner of this address does not admit you.</p>
${form(context, 'sign-in-other', button('Sign in as somebody else'))}
${cancelForm(context)}`,
  };
}

/** The person waits for the owner, or has an answer that ends it. */
export function knockPage(
  context: PageContext,
  state: Exclude<ApprovalState, 'admitted'> | undefined,
): AuthorizePage {
  if (state === 'waiting')
    return {
      status: 200,
      title: 'Waiting for the owner',
      html: `${factsOf(context)}
<p role="status">The owner of this address has been asked. Keep this page open: it continues as soon as there is an answer.</p>
${cancelForm(context)}`,
      refresh: LOOK_SECONDS,
    };
  if (state === 'refused')
    return {
      status: 403,
      title: 'Access denied',
      html: `<p>The owner of this address has denied the request.</p>\n${backLink(context)}`,
    };
  return {
    status: 401,
    title: 'No answer',
    html: `<p>Nobody has responded to the request. The owner of this address may be away from the computer.</p>
${form(context, 'knock', button('Ask again'))}
${cancelForm(context)}`,
  };
}

/** The person is outside the networks that the tunnel allows. */
export function addressPage(): AuthorizePage {
  const { status, title, text } = VISITOR_ERRORS['access-address'];
  return { status, title, html: `<p>${escapeHtml(text)}</p>` };
}

/** The tunnel has no room for another agent. */
export function fullPage(context: PageContext): AuthorizePage {
  return {
    status: 403,
    title: 'Too many agents',
    html: `<p>This address has ${AGENTS_MAX} agents already, and no more can be admitted (<code>access_denied</code>). Its owner can revoke one.</p>
${backLink(context)}`,
  };
}

function page(html: string, status = 200): AuthorizePage {
  return { status, title: 'An agent asks for access', html };
}

/** Who asks, for what, and where it goes: hosts, because anybody can choose a name. */
function factsOf({ request }: PageContext): string {
  const { client, host, returnsTo, resource } = request;
  const name = client.name === '' ? '' : `<br><small>It calls itself “${escapeHtml(client.name)}”.</small>`;
  return `<dl>
<dt>Agent</dt><dd><strong>${escapeHtml(host)}</strong>${name}</dd>
<dt>Wants to use</dt><dd>${escapeHtml(resource)}</dd>
<dt>Returns to</dt><dd><strong>${escapeHtml(returnsTo)}</strong></dd>
</dl>
<p>Continue only if you have just connected this agent yourself. It gets the same access to this address as you, until it is revoked.</p>`;
}

function form({ action, form: sealed }: PageContext, way: Way, content: string): string {
  return `<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="${FORM_FIELD}" value="${escapeHtml(sealed)}">
<input type="hidden" name="${WAY_FIELD}" value="${way}">
${content}
</form>`;
}

function button(text: string): string {
  return `<p><button class="go">${text}</button></p>`;
}

function quietButton(text: string): string {
  return `<p><button class="quiet">${text}</button></p>`;
}

function cancelForm(context: PageContext): string {
  return form(context, 'cancel', quietButton('Cancel'));
}

function backLink({ request, issuer }: PageContext): string {
  const address = returnAddress(request, { error: 'access_denied' }, issuer);
  return `<p><a class="go" href="${escapeHtml(address)}">Go back to ${escapeHtml(request.returnsTo)}</a></p>`;
}

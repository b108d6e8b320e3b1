/** What somebody sees who opens an invitation. Looking at it takes nothing: programs that preview links look, too. */
import { signInLink } from '../../../shared/invitations.ts';
import { escapeHtml, page } from '../../../shared/page.ts';
import type { OpenInvitation } from '../../store/records.ts';

export interface InvitationPageOptions {
  /** the relay's own address */
  readonly publicUrl: URL;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** address of the page from which people get Culvert */
  readonly downloadPage: string | undefined;
}

/** @param token of the invitation */
export function invitationPage(
  { account, expiresAt }: OpenInvitation,
  token: string,
  { publicUrl, contact, downloadPage }: InvitationPageOptions,
): string {
  const address = `${publicUrl.origin}/invite/${token}`;
  const whereFrom =
    downloadPage === undefined
      ? 'Whoever sent you this address knows where to get it.'
      : `<a href="${escapeHtml(downloadPage)}">Get Culvert</a>, then come back to this page.`;
  const end = new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ');
  return page(
    'You are invited',
    `<p>With Culvert, whatever runs on your computer gets a public address for as long as you like: a site under development, a webhook, a demo. Nothing is uploaded, and it ends when you end it.</p>
<p>This invitation lets you use the relay <strong>${escapeHtml(publicUrl.host)}</strong> as <strong>${escapeHtml(account.name)}</strong>. On the computer that you want to use, with the Culvert app installed:</p>
<p><a class="go" href="${escapeHtml(signInLink(address))}">Open in Culvert</a></p>
<p>Or in a terminal, and then for whatever listens on port 3000 there:</p>
<p><code>culvert login ${escapeHtml(address)}</code></p>
<p><code>culvert http 3000</code></p>
<p>Culvert is not installed there yet? ${whereFrom}</p>
<p>Either of the two fetches a key of your own and keeps it on that computer. The invitation is good once, until ${end} UTC, for whoever has this address: pass it on to nobody.</p>`,
    'Invitation',
    contact,
  );
}

/** For one that is unknown, taken or over. */
export function endedInvitationPage({ contact }: Pick<InvitationPageOptions, 'contact'>): string {
  return page(
    'This invitation has ended',
    `<p>It was used already, its time is over, or its address is not whole. Whoever sent it to you can send another one.</p>
<p>You have used it yourself, on this computer? Then you are signed in: <code>culvert http 3000</code> gives what listens on port 3000 an address.</p>`,
    '404',
    contact,
  );
}

/** What somebody sees who opens the relay's own address in a browser. */
import { escapeHtml, page } from '../../../shared/page.ts';
import { VERSION } from '../../../shared/version.ts';

/**
 * @param publicUrl the relay's own address
 * @param contact address of a link for complaints
 */
export function relayPage(publicUrl: URL, contact: string | undefined): string {
  const address = escapeHtml(publicUrl.origin);
  return page(
    'A Culvert relay',
    `<p>This machine lends public addresses to programs on other people's computers: what they show there goes through it, and is not its own.</p>
<p>You were given an address of a page? Open that one, whole; there is nothing to see at this one.</p>
<p>You have an invitation? Open it in this browser. You have a key? On your computer:</p>
<p><code>culvert login --relay ${address}</code></p>
<p><code>culvert http 3000</code></p>`,
    VERSION,
    contact,
  );
}

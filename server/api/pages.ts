/** How the relay answers with pages for people. They load nothing, run no script, and cannot be framed. */
import { createHash } from 'node:crypto';
import { cookiesIn, prefersHtml } from '../../shared/http1/fields.ts';
import { PAGE_STYLE } from '../../shared/page.ts';
import { type SigningBrowser, signingBrowser } from '../edge/request-head.ts';
import type { ApiContext } from './guards.ts';

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64');
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'; form-action`;

/** Whether the sender prefers a page to JSON. */
export function wantsPage(ctx: ApiContext): boolean {
  return prefersHtml(ctx.get('accept'));
}

/** The browser that signs in at the relay's own host. */
export function browserOf(ctx: ApiContext, isSecure: boolean): SigningBrowser {
  return signingBrowser((name) => cookiesIn(ctx.get('cookie'), name), 'relay', isSecure);
}

/** @param formSources where its forms may lead */
export function respondWithPage(ctx: ApiContext, status: number, html: string, formSources = "'none'"): void {
  ctx.status = status;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': `${POLICY} ${formSources}`,
    // The address of an invitation is a secret.
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex',
    Vary: 'Accept',
  });
  ctx.body = html;
}

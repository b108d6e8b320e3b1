/**
 * The Content-Security-Policy of the page, sent as a header by the app's own scheme: only the page's own files, no
 * network, no inline code or style, no frames, no forms.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The one of screens/body/safe-html.ts.
  'trusted-types inert-html',
].join('; ');

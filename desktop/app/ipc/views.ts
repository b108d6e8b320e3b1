/** A visitor's browser and system in words, for an owner who decides on an approval request. */
import { t } from '../messages/translate.ts';
import type { TunnelView } from './snapshot.ts';

/** In this order: most browsers also claim to be an older one. */
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/^(?=.*\bVersion\/\d).*\bSafari\//s, 'Safari'],
  [/^curl\//, 'curl'],
  [/^Wget\//, 'Wget'],
  [/^git\//, 'git'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/**
 * @param agent a `User-Agent` field, which anybody can write as they like
 * @returns `Chrome on Windows`; as much of it as is known
 */
export function agentWords(agent: string): string {
  const program = nameOf(PROGRAMS, agent);
  const system = nameOf(SYSTEMS, agent);
  if (program !== undefined)
    return system === undefined ? program : t('agent.programOn', { program, system });
  return system === undefined ? t('agent.unknown') : t('agent.someOn', { system });
}

function nameOf(names: readonly (readonly [RegExp, string])[], agent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(agent))?.[1];
}

/**
 * The Content-Security-Policy of the page, sent as a header: only the page's own files, no inline code or style, no
 * frames, no forms.
 *
 * @param connect what the page may connect to
 */
export function contentSecurityPolicy(connect: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The one of screens/body/previews.tsx.
    'trusted-types inert-html',
  ].join('; ');
}

/** The policy in the app, whose page has no network. */
export const CONTENT_SECURITY_POLICY = contentSecurityPolicy("'none'");

/** Where a tunnel leads, in a sentence: `folder dist`, or `port 3000`. */
export function leadsTo({ folder, localPort }: Pick<TunnelView, 'folder' | 'localPort'>): string {
  return folder === undefined
    ? t('common.leadsToPort', { port: localPort })
    : t('common.leadsToFolder', { folder });
}

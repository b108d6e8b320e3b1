/**
 * Links of the app. Anything can open one, so they only ask the user: `culvert://new?port=3000&name=my-app` opens the create form,
 * filled in, and accepts no key; `culvert://sign-in?invitation=ADDRESS` shows an invitation.
 */
import { NAME_RULE, parsePort } from '../../../shared/value-rules.ts';
import { readInvitation } from '../../client/relay/invitation.ts';
import type { TunnelForm } from '../ipc/ipc.ts';

export const LINK_SCHEME = 'culvert';
const LINK_MAX_CHARS = 2000;

export type DeepLink =
  | { readonly opens: 'form'; readonly form: Partial<TunnelForm> }
  | { readonly opens: 'invitation'; readonly address: string };

/** @returns what to show, without invalid parts of a form; `undefined` for anything but such a link */
export function readDeepLink(text: string): DeepLink | undefined {
  const url = text.length > LINK_MAX_CHARS ? null : URL.parse(text);
  if (url?.protocol !== `${LINK_SCHEME}:`) return undefined;
  if (url.pathname !== '' && url.pathname !== '/') return undefined;
  if (url.host === 'new') return { opens: 'form', form: readForm(url.searchParams) };
  if (url.host === 'sign-in') return openedInvitation(url.searchParams.get('invitation') ?? '');
  return undefined;
}

function readForm(parameters: URLSearchParams): Partial<TunnelForm> {
  const port = parsePort(parameters.get('port') ?? '');
  const name = parameters.get('name') ?? '';
  return {
    ...(port === undefined ? {} : { port }),
    ...(NAME_RULE.accepts(name) ? { name } : {}),
  };
}

function openedInvitation(address: string): DeepLink | undefined {
  return readInvitation(address) === undefined ? undefined : { opens: 'invitation', address };
}

/** The link among the arguments of a program that was started to open it. */
export function findDeepLink(argv: readonly string[]): string | undefined {
  return argv.find((argument) => argument.startsWith(`${LINK_SCHEME}://`));
}

export type ProjectLinks = Readonly<ReturnType<typeof projectLinks>>;

/**
 * Addresses of the links in the window. The page names a link, and never an address.
 *
 * @param home address of the project's repository, from the app's own package.json
 */
export function projectLinks(home: string, version: string) {
  return {
    documentation: `${home}/blob/v${version}/docs/guides/app.md`,
    source: home,
    releases: `${home}/releases`,
  };
}

/** The id of the app in the system; `appId` of electron-builder.yml. */
export const APP_ID = 'dev.culvert.desktop';

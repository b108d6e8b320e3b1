/**
 * Links of the app. Anything can open one, so they only ask the user: `culvert://new?port=3000&name=my-app` opens the create form,
 * filled in, and accepts no key; `culvert://sign-in?invitation=ADDRESS` shows an invitation. The other links are those in
 * the window, and one in a file, which opens the window in a browser.
 */
import { join } from 'node:path';
import { NAME_RULE, parsePort } from '../../../shared/value-rules.ts';
import { DurableFile } from '../../client/config/durable-file.ts';
import { readInvitation } from '../../client/relay/invitation.ts';
import type { TunnelForm } from '../ipc/ipc.ts';

export const LINK_SCHEME = 'culvert';
const LINK_MAX_CHARS = 2000;

type DeepLink =
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

const NAME = 'open-window.html';

/**
 * Writes a file that only this user can read: other users can see the arguments of the program that opens it, and must
 * not see the link.
 *
 * @param directory of the app's files
 * @returns its path
 */
export async function writeLinkFile(directory: string, link: string): Promise<string> {
  const file = new DurableFile(join(directory, NAME));
  await file.write(
    `<!doctype html><meta charset="utf-8"><title>Culvert</title><meta http-equiv="refresh" content="0; url=${link}">\n`,
  );
  return file.path;
}

export async function removeLinkFile(directory: string): Promise<void> {
  await new DurableFile(join(directory, NAME)).remove();
}

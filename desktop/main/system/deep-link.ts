/** `culvert://new?port=3000&name=my-app`: opens the create form, filled in. It creates nothing, and takes no key. */
import { NAME_RULE, parsePort } from '../../../shared/value-rules.ts';
import type { TunnelForm } from '../../shared/ipc.ts';

export const LINK_SCHEME = 'culvert';
/** Anything can open a link. */
const LINK_MAX_CHARS = 2000;

/** @returns what to fill in; `undefined` for anything else than such a link. A part that is not valid is left out. */
export function readDeepLink(text: string): Partial<TunnelForm> | undefined {
  const url = text.length > LINK_MAX_CHARS ? null : URL.parse(text);
  if (url?.protocol !== `${LINK_SCHEME}:` || url.host !== 'new') return undefined;
  if (url.pathname !== '' && url.pathname !== '/') return undefined;
  const port = parsePort(url.searchParams.get('port') ?? '');
  const name = url.searchParams.get('name') ?? '';
  return {
    ...(port === undefined ? {} : { port }),
    ...(NAME_RULE.accepts(name) ? { name } : {}),
  };
}

/** The link among the arguments of a program that was started to open it. */
export function findDeepLink(argv: readonly string[]): string | undefined {
  return argv.find((argument) => argument.startsWith(`${LINK_SCHEME}://`));
}

import { uriHost } from '../../../shared/host.ts';
import type { LocalTarget } from './local-target.ts';

/** `keep` sends the visitor's Host, `local` the one of the local service, anything else is sent as it is. */
export type HostHeader = string;

/** @returns what to send in place of the visitor's Host; `undefined` to keep it */
export function replacementHost(mode: HostHeader, { host, port }: LocalTarget): string | undefined {
  if (mode === 'keep') return undefined;
  return mode === 'local' ? `${uriHost(host)}:${port}` : mode;
}

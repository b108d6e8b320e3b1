import { uriHost } from '../../../shared/host.ts';
import type { HostHeader } from '../../../shared/value-rules.ts';
import type { LocalTarget } from './local-target.ts';

/** @returns what to send in place of the visitor's Host; `undefined` to keep it */
export function replacementHost(mode: HostHeader, { host, port }: LocalTarget): string | undefined {
  if (mode === 'keep') return undefined;
  return mode === 'local' ? `${uriHost(host)}:${port}` : mode;
}

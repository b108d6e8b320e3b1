import type { LocalTarget } from './local-target.ts';

/** `keep` sends the visitor's Host, `local` the one of the local service, anything else is sent as it is. */
export type HostHeader = string;

/** @returns what to send in place of the visitor's Host; `undefined` to keep it */
export function replacementHost(mode: HostHeader, { host, port }: LocalTarget): string | undefined {
  if (mode === 'keep') return undefined;
  return mode === 'local' ? `${host.includes(':') ? `[${host}]` : host}:${port}` : mode;
}

/** Whether a text can be sent as a Host: a name or an IP address, with a port or without (RFC 9110 section 7.2). */
export function isHost(text: string): boolean {
  return /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(text);
}

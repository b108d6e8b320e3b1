/** What a tunnel leads to, as people write it: a port, or where their development server says that it listens. */
import { LOCAL_HOST_RULE, parsePort, PORT_RULE } from '../../../shared/value-rules.ts';
import { isLoopback } from '../../engine/network/loopback.ts';
import { UsageError } from '../usage-error.ts';

export interface Target {
  readonly port: number;
  /** name or IP address; `localhost` where none is given */
  readonly host: string;
  readonly https: boolean;
}

const ACCEPTED = `a local port (${PORT_RULE.accepted}), HOST:PORT, or an address such as http://localhost:3000`;
const ADDRESS = /^(?:(https?):\/\/)?(\[[\da-f:.]+(?:%[\w.~-]+)?\]|[^[\]:/?#@\s]*)(?::(\d+))?(\/.*)?$/is;
/** What servers that listen on every address of this machine print. */
const EVERY_ADDRESS = new Set(['', '0.0.0.0', '[::]', '*']);

/** Whether a word can only be meant as a port, or as where a service listens. */
export function isTarget(word: string): boolean {
  return /^(?::?\d+|https?:\/\/.*|(?:\[.*\]|[\w.*-]+):\d+\/?)$/i.test(word);
}

/** @throws UsageError that names what is wrong, and what is accepted */
export function parseTarget(text: string): Target {
  const port = parsePort(text);
  if (port !== undefined) return { port, host: 'localhost', https: false };
  const [, scheme, host = '', portText, path = ''] = ADDRESS.exec(text) ?? [];
  const isHttps = scheme?.toLowerCase() === 'https';
  const given = portText === undefined ? standardPort(scheme) : parsePort(portText);
  if (given === undefined) throw new UsageError(`PORT "${text}" is not a port: give ${ACCEPTED}.`);
  if (path !== '' && path !== '/')
    throw new UsageError(`PORT "${text}": a tunnel leads to all of a port, so leave "${path}" out.`);
  return { port: given, host: hostOf(host, text), https: isHttps };
}

function standardPort(scheme: string | undefined): number | undefined {
  if (scheme === undefined) return undefined;
  return scheme.toLowerCase() === 'https' ? 443 : 80;
}

function hostOf(host: string, text: string): string {
  if (EVERY_ADDRESS.has(host) || host.toLowerCase() === 'localhost') return 'localhost';
  const bare = host.replace(/^\[|\]$/g, '');
  if (LOCAL_HOST_RULE.accepts(bare)) return bare;
  throw new UsageError(`PORT "${text}": "${bare}" is not ${LOCAL_HOST_RULE.accepted}; give ${ACCEPTED}.`);
}

/** A word of warning for a service of another machine; `undefined` for one of this. */
export function otherMachineWarning(host: string): string | undefined {
  if (isLoopback(host)) return undefined;
  return `${host} is another machine: visitors see what it shows to this one, which may be more than it shows to the internet.\n`;
}

import { BlockList, isIP } from 'node:net';
import { isLoopback } from './loopback.ts';

/**
 * Reads `NO_PROXY` as most programs do: names, which include everything below them, IP addresses and networks such as
 * `10.0.0.0/8`, each with a port or without, separated by commas or spaces; `*` is everything.
 *
 * @returns tells whether a host, without brackets, is to be reached without a proxy
 */
export function parseNoProxy(text: string): (host: string, port: number) => boolean {
  const rules = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(parseRule);
  return (host, port) => isLoopback(host) || rules.some((rule) => rule(host.toLowerCase(), port));
}

type Rule = (host: string, port: number) => boolean;

function parseRule(text: string): Rule {
  if (text === '*') return () => true;
  const network = /^(.+)\/(\d{1,3})$/.exec(text);
  if (network !== null) return parseNetwork(network[1] ?? '', Number(network[2]));
  const [, bracketed, plain, only] = /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(text) ?? [];
  const name = (bracketed ?? plain ?? text).replace(/^\*?\.+/, '');
  return (host, port) =>
    (host === name || host.endsWith(`.${name}`)) && (only === undefined || port === Number(only));
}

function parseNetwork(address: string, prefix: number): Rule {
  const family = isIP(address);
  if (family === 0 || prefix > (family === 4 ? 32 : 128)) return () => false;
  const list = new BlockList();
  list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return (host) => isIP(host) === family && list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Settings with which a relay serves, but not at the addresses that it gives out, or without protecting its tunnels. */
import { namesMuchOfTheInternet } from '../address-network.ts';
import type { Config } from '../config.ts';

/** A setting that is missing. */
export interface Gap {
  /** the variable that would close it */
  readonly setting: string;
  /** what follows from it, and what to do */
  readonly reason: string;
}

type Given = Pick<Config, 'publicUrl' | 'tunnelDomain' | 'tls' | 'acme' | 'trustedProxies' | 'pathForm'>;

/** @returns what is missing beside `CULVERT_PUBLIC_URL`; nothing without it */
export function gapsOf(config: Given): Gap[] {
  const { publicUrl } = config;
  if (publicUrl === undefined) return [];
  return [tunnelDomainGap(config, publicUrl), certificateGap(config, publicUrl)].filter(
    (gap) => gap !== undefined,
  );
}

/** @returns the settings that take protection away, with what follows from each */
export function unsafeSettings({ trustedProxies }: Pick<Config, 'trustedProxies'>): Gap[] {
  return namesMuchOfTheInternet(trustedProxies) ? [TRUSTS_ALL] : [];
}

const TRUSTS_ALL: Gap = {
  setting: 'CULVERT_TRUST_PROXY',
  reason:
    'CULVERT_TRUST_PROXY names a large part of the internet: visitors from there can claim any address, host and scheme, so that the allow lists of tunnels, limits for each address and logs go by what they say; name only the proxies in front of this relay',
};

function tunnelDomainGap({ tunnelDomain, pathForm }: Given, { hostname, origin }: URL): Gap | undefined {
  if (!isThisMachine(tunnelDomain) || isThisMachine(hostname)) return undefined;
  const otherwise = pathForm ? `; until then only ${origin}/t/NAME leads here` : '';
  return {
    setting: 'CULVERT_TUNNEL_DOMAIN',
    reason: `addresses of tunnels are below ${tunnelDomain}, which is each visitor's own machine; set CULVERT_TUNNEL_DOMAIN to a domain whose wildcard record in the DNS leads here, such as tunnels.example.com with *.tunnels.example.com${otherwise}`,
  };
}

function certificateGap({ tls, acme, trustedProxies }: Given, { protocol }: URL): Gap | undefined {
  const isServed = tls !== undefined || acme !== undefined || trustedProxies.rules.length > 0;
  if (protocol !== 'https:' || isServed) return undefined;
  return {
    setting: 'CULVERT_ACME_EMAIL',
    reason:
      'CULVERT_PUBLIC_URL says https, but this relay has no certificate and trusts no proxy that has one: without a proxy nobody reaches it there, and with one all visitors share the limits of its address; set CULVERT_ACME_EMAIL, or CULVERT_TLS_CERT and CULVERT_TLS_KEY, or CULVERT_TRUST_PROXY',
  };
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host.startsWith('127.');
}

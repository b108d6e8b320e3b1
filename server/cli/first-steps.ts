/** What a person reads at the first start of a relay without settings: what to set next (docs/operating.md). */
import type { Config } from '../config.ts';

/** The page, and its heading, that has all of it. */
export const FIRST_STEPS_PAGE = 'docs/operating.md, "Its own certificates"';

/**
 * @param url where the relay listens
 * @returns lines to show below the first key
 */
export function firstSteps(
  { database, dataDir }: Pick<Config, 'database' | 'dataDir'>,
  url: string,
): string[] {
  const own = new URL(url);
  own.hostname = 'localhost';
  const data = database.kind === 'sqlite' ? database.path : `PostgreSQL; its other files: ${dataDir}`;
  return [
    '',
    `On this machine it is ready: culvert login --relay ${own.origin}, with the key above.`,
    'For others it needs a server, two DNS records that lead there, relay.example.com and',
    '*.tunnels.example.com, and these settings at its next start (the key stays valid):',
    '  CULVERT_PUBLIC_URL=https://relay.example.com   its own address',
    '  CULVERT_TUNNEL_DOMAIN=tunnels.example.com      tunnels are NAME.tunnels.example.com',
    '  CULVERT_ACME_EMAIL=you@example.com             certificates; ports 443 and 80 are open',
    '  CULVERT_HOST=:: CULVERT_PORT=443               where visitors come',
    `Its database: ${data}`,
    `More: ${FIRST_STEPS_PAGE}; every setting: culvert-relay --help`,
    '',
  ];
}

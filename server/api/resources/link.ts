/** A signed link as the REST interface shows it (docs/protocol.md section 11.2). */
import { type Link, LINK_PARAMETER, type NewLink } from '../../../shared/links.ts';
import type { LinkRecord } from '../../store/records.ts';
import type { MadeLink } from '../../tunnels/tunnel-links.ts';
import { type Addresses, tunnelUrls } from '../../tunnels/urls.ts';
import { address, object, text, timestamp } from '../json-schema.ts';

const FIELDS = {
  id: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  note: text,
  'path?': { type: 'string', description: "where it leads below the tunnel's address" },
  created_at: timestamp,
  expires_at: timestamp,
};

export const LINK_SCHEMA = object(FIELDS);
export const NEW_LINK_SCHEMA = object({
  ...FIELDS,
  url: { ...address, description: 'the address to hand out; it is not shown again' },
});

export function viewLink({ id, note, path, createdAt, expiresAt }: LinkRecord): Link {
  return {
    id,
    note,
    ...(path !== null && { path }),
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
  };
}

export function viewNewLink({ tunnel, link, token }: MadeLink, addresses: Addresses): NewLink {
  const path = link.path ?? '/';
  const { public_url } = tunnelUrls(tunnel, addresses);
  const url = `${public_url}${path}${path.includes('?') ? '&' : '?'}${LINK_PARAMETER}=${token}`;
  return { ...viewLink(link), url };
}

/** Checks the tunnel objects that a relay returns, before the rest of the client trusts their types. */
import * as yup from 'yup';
import { UUID_PATTERN } from '../../../shared/control.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { accessView } from './access-response.ts';
import { address, check, count, duration, printable, text, time } from './response-fields.ts';

const id = yup.string().matches(UUID_PATTERN).required();

const tunnelSchema = yup
  .object({
    id,
    slug: text,
    local_port: count,
    name: printable.defined(),
    ttl: duration,
    created_at: time,
    expires_at: time,
    idle_ttl: yup.boolean().required(),
    bytes_in: count,
    bytes_out: count,
    requests: count,
    online: yup.boolean(),
    access: accessView,
    public_url: address,
    urls: yup
      .object({
        subdomain: address,
        path: address.optional(),
        account: address.optional(),
        domain: address.optional(),
      })
      .required(),
  })
  .strict();

const listSchema = yup.object({ tunnels: yup.array(tunnelSchema.required()).required() }).strict();

/** @throws RelayUnreachable when the value is not a tunnel object */
export function readTunnel(value: unknown): Tunnel {
  return complete(check(tunnelSchema, value) as Tunnel);
}

/** @throws RelayUnreachable when the value is not a list of tunnels */
export function readTunnelList(value: unknown): Tunnel[] {
  return (check(listSchema, value) as { tunnels: Tunnel[] }).tunnels.map(complete);
}

/** Tunnels of a relay that knows no `access` are open to everybody; one that does not know `online` takes none over either. */
function complete(tunnel: Tunnel): Tunnel {
  const { access = {}, online = false } = tunnel as Partial<Tunnel>;
  return { ...tunnel, access, online };
}

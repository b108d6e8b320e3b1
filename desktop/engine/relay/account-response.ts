/** Checks the account that a relay returns, before the rest of the client trusts its types. */
import * as yup from 'yup';
import type { Account } from '../../../shared/tunnel.ts';
import { check, count, duration, printable, text } from './response-fields.ts';

const limit = count.nullable().defined();

const accountSchema = yup
  .object({
    client_id: text,
    name: text,
    // A newer relay may have plans that this client does not know.
    plan: text,
    subdomain: printable.nullable().defined(),
    limits: yup
      .object({
        default_ttl: duration,
        max_ttl: duration,
        creates_per_minute: yup.number().min(0).required(),
        create_burst: count,
        max_tunnels: limit,
        max_connections: limit,
      })
      .required(),
  })
  .strict();

/** @throws RelayUnreachable when the value is not an account */
export function readAccount(value: unknown): Account {
  return check(accountSchema, value) as Account;
}

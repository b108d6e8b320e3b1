/** Checks the domains that a relay returns (docs/protocol.md section 12.2). */
import * as yup from 'yup';
import { UUID_PATTERN } from '../../../shared/control.ts';
import type { CheckedDomain, Domain } from '../../../shared/domains.ts';
import { check, printable, text } from './response-fields.ts';

/** Copied into a form of a DNS provider: names, addresses, and the text of a proof. */
const copied = yup
  .string()
  .matches(/^[\w.:=-]{1,300}$/)
  .required();
const timeOrNone = printable.nullable().defined();

const domain = yup
  .object({
    id: yup.string().matches(UUID_PATTERN).required(),
    domain: copied,
    status: yup
      .string()
      .oneOf(['pending', 'verified'] as const)
      .required(),
    records: yup
      .array(
        yup
          .object({
            type: yup
              .string()
              .oneOf(['A', 'AAAA', 'CNAME', 'TXT'] as const)
              .required(),
            name: copied,
            value: copied,
          })
          .required(),
      )
      .required(),
    created_at: text,
    verified_at: timeOrNone,
    failing_since: timeOrNone,
    ends_at: timeOrNone,
  })
  .required();

const checked = domain.shape({
  checks: yup
    .array(
      yup
        .object({
          what: yup
            .string()
            .oneOf(['proof', 'address'] as const)
            .required(),
          ok: yup.boolean().required(),
          found: yup.array(printable.defined()).required(),
          problem: printable.defined(),
        })
        .required(),
    )
    .required(),
});

const domainSchema = domain.strict();
const checkedSchema = checked.strict();
const listSchema = yup.object({ domains: yup.array(domain).required() }).strict();

/** @throws RelayUnreachable when the value is not a domain */
export function readDomainObject(value: unknown): Domain {
  return check(domainSchema, value) as Domain;
}

/** @throws RelayUnreachable when the value is not a domain that was looked at */
export function readCheckedDomain(value: unknown): CheckedDomain {
  return check(checkedSchema, value) as CheckedDomain;
}

/** @throws RelayUnreachable when the value is not a list of domains */
export function readDomainList(value: unknown): Domain[] {
  return (check(listSchema, value) as { domains: Domain[] }).domains;
}

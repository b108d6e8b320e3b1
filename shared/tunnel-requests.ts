/** Requests about tunnels, as the REST interface accepts them (docs/protocol.md section 3). */
import * as yup from 'yup';
import { readAccess } from './access-requests.ts';
import { readGivenDomain } from './domain-requests.ts';
import { API_ERRORS } from './errors.ts';
import { check, readGivenTtl, refuse, ttl } from './request-fields.ts';
import type { TtlLimits, WantedTunnel } from './tunnel.ts';
import { NAME_RULE, PORT_RULE } from './value-rules.ts';

const localPort = yup
  .mixed<number>()
  .nullable()
  .test('local_port', (value: unknown, context) =>
    PORT_RULE.accepts(value) ? true : refuse(context, API_ERRORS.invalidPort),
  );

const name = yup
  .mixed<string>()
  .nullable()
  .test('name', (value: unknown, context) => {
    if (value === undefined || value === null || value === '') return true;
    return NAME_RULE.accepts(value) ? true : refuse(context, API_ERRORS.invalidName);
  });

const flag = yup
  .mixed<boolean>()
  .nullable()
  .test('flag', (value: unknown, context) =>
    value === undefined || value === null || typeof value === 'boolean'
      ? true
      : refuse(context, API_ERRORS.invalidBody),
  );

/** The create request (docs/protocol.md section 3.2), fields in the order in which they are checked. */
export function createTunnelSchema(limits: TtlLimits) {
  return yup
    .object({
      local_port: localPort,
      name,
      ttl: ttl(limits.maxTtl),
      idle_ttl: flag,
      access: yup.mixed().nullable(),
      take_over: flag,
      domain: yup.mixed().nullable(),
    })
    .strict();
}

/** The extend request (docs/protocol.md section 3.5). */
export function extendTunnelSchema(limits: TtlLimits) {
  return yup.object({ ttl: ttl(limits.maxTtl) }).strict();
}

/**
 * Reads the body of a create request.
 *
 * @param body parsed JSON
 * @throws ApiError for the first field, in the order of the table in docs/protocol.md section 3.2, that breaks a rule
 */
export function readCreateTunnel(body: unknown, limits: TtlLimits): WantedTunnel {
  const fields = check(createTunnelSchema(limits), body);
  return {
    localPort: Number(fields.local_port),
    name: fields.name ?? '',
    ttl: readGivenTtl(fields.ttl, limits.maxTtl) ?? limits.defaultTtl,
    idleTtl: fields.idle_ttl ?? false,
    access: readAccess(fields.access),
    takeOver: fields.take_over ?? false,
    domain: isNotGiven(fields.domain) ? '' : readGivenDomain(fields.domain),
  };
}

/**
 * Reads the body of an extend request.
 *
 * @returns the seconds asked for, or `undefined` when the tunnel's own `ttl` is meant
 * @throws ApiError
 */
export function readExtendTunnel(body: unknown, limits: TtlLimits): number | undefined {
  return readGivenTtl(check(extendTunnelSchema(limits), body).ttl, limits.maxTtl);
}

function isNotGiven(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

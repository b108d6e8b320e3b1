/** How a client parses a relay's responses, which a hostile relay, or a proxy in between, may forge. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CHECKED_DOMAIN, DOMAIN, DOMAIN_LIST } from '../../../shared/domains.ts';
import { parseDuration } from '../../../shared/duration.ts';
import { KNOCK_LIST } from '../../../shared/knocks.ts';
import { LINK_LIST } from '../../../shared/links.ts';
import { anyJson, mutated } from '../../../shared/testing/mutated.ts';
import { ACCOUNT } from '../../../shared/tunnel.ts';
import { hasUnprintable } from '../../../shared/unprintable.ts';
import { read, readNewLink, readTunnel, readTunnelList } from './api-responses.ts';
import { readErrorBody, readRefusal, readRetryAfter, RelayUnreachable } from './errors.ts';

const RUNS = { numRuns: 1000 };
const ID = '8f14e45f-ceea-467f-a0e6-1c1d2e3f4a5b';
const AT = '2026-07-10T12:00:00.000Z';

const tunnel = {
  id: ID,
  slug: 'shop',
  client_id: 'one',
  local_port: 3000,
  name: 'shop',
  ttl: '1h0m0s',
  mode: 'relay',
  created_at: AT,
  expires_at: AT,
  idle_ttl: false,
  bytes_in: 0,
  bytes_out: 0,
  requests: 0,
  online: true,
  access: { allow: ['10.0.0.0/8'], basic: ['ann'], password: true },
  public_url: 'https://shop.example.com',
  urls: { subdomain: 'https://shop.example.com', path: 'https://example.com/t/shop' },
};
const link = { id: '0123456789abcdef', note: '', path: '/', created_at: AT, expires_at: AT };
const domain = {
  id: ID,
  domain: 'a.example.com',
  status: 'pending',
  records: [{ type: 'TXT', name: '_culvert.a.example.com', value: 'culvert=abc' }],
  created_at: AT,
  verified_at: null,
  failing_since: null,
  ends_at: null,
};
const account = {
  client_id: 'one',
  name: 'ann',
  plan: 'dev',
  subdomain: null,
  limits: {
    default_ttl: '1h0m0s',
    max_ttl: '168h0m0s',
    creates_per_minute: 10,
    create_burst: 5,
    max_tunnels: null,
    max_connections: 100,
  },
};
const knock = {
  id: '0123456789abcdef',
  status: 'waiting',
  address: '192.0.2.7',
  agent: 'x',
  at: AT,
  ends_at: AT,
};
const checks = [{ what: 'proof', ok: false, found: [''], problem: 'there is none' }];

const responses: readonly (readonly [name: string, valid: unknown, readIt: (value: unknown) => unknown])[] = [
  ['a tunnel', tunnel, readTunnel],
  ['a list of tunnels', { tunnels: [tunnel] }, readTunnelList],
  ['an account', account, (value) => read(ACCOUNT, value)],
  ['a new link', { ...link, url: 'https://shop.example.com/?culvert_pass=abc' }, readNewLink],
  ['a list of links', { links: [link] }, (value) => read(LINK_LIST, value)],
  ['a domain', domain, (value) => read(DOMAIN, value)],
  ['a domain that was looked at', { ...domain, checks }, (value) => read(CHECKED_DOMAIN, value)],
  ['a list of domains', { domains: [domain] }, (value) => read(DOMAIN_LIST, value)],
  ['a list of knocks', { knocks: [knock] }, (value) => read(KNOCK_LIST, value)],
];

describe('a response of a relay', () => {
  for (const [name, valid, readIt] of responses)
    it(`is ${name}, or the relay counts as unreachable`, () => {
      readIt(valid);
      fc.assert(
        fc.property(mutated(valid), (value) => {
          const json = JSON.parse(JSON.stringify(value ?? null)) as unknown;
          try {
            readIt(json);
          } catch (error) {
            if (!(error instanceof RelayUnreachable)) throw error;
          }
        }),
        RUNS,
      );
    });

  it('has a tunnel with usable times and texts', () => {
    fc.assert(
      fc.property(mutated(tunnel), (value) => {
        let seen;
        try {
          seen = readTunnel(JSON.parse(JSON.stringify(value ?? null)));
        } catch {
          return;
        }
        assert.ok(!Number.isNaN(Date.parse(seen.expires_at)));
        assert.ok(Number.isFinite(parseDuration(seen.ttl)));
        for (const text of [seen.slug, seen.name, seen.public_url])
          assert.ok(text.isWellFormed() && !hasUnprintable(text));
      }),
      RUNS,
    );
  });

  it('is a refusal with a short text and a well-formed code', () => {
    const bodies = fc.oneof(
      mutated({ error: 'name already in use', code: 'name-taken' }).map(
        (value) => JSON.stringify(value) ?? '',
      ),
      fc.string({ unit: 'binary' }),
      anyJson.map((error) => JSON.stringify({ error, code: error }) ?? ''),
    );
    const header = fc.option(
      fc.oneof(fc.string(), fc.constantFrom('999999999', '-1', '1e9', 'Fri, 31 Dec 9999 23:59:59 GMT')),
      { nil: undefined },
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 999 }),
        bodies,
        header,
        header,
        (status, body, retryAfter, challenge) => {
          const headers = {
            ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
            ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
          };
          readRefusal(status, headers, body, 0);
          const error = readErrorBody(body);
          assert.ok(error === undefined || (error.text.length <= 300 && error.text.isWellFormed()));
          assert.ok(error?.code === undefined || /^[a-z0-9-]{1,64}$/.test(error.code));
          const wait = readRetryAfter(retryAfter, 0);
          assert.ok(wait === undefined || (wait >= 0 && wait <= 999_999_999_000));
        },
      ),
      RUNS,
    );
  });
});

import assert from 'node:assert/strict';
import type { AccessEntry } from '../observe/logger.ts';
import { onlyTunnel } from '../testing/edge-fixture.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { type EdgeContext, HostResolver, parseRequest } from './route.ts';
import { AccessRecord } from './request-record.ts';

const TOKEN = 'Ab3-_'.repeat(6) + 'xy';
const ID = '0b9d7c52-5a4e-4d3c-9d0a-3f1f6b1f2a77';
const NO_PROGRESS = { now: 0, taken: 0, sent: 0 };
const tunnel = { slug: 'abc', account: {}, terms: { wildcard: false } } as LiveTunnel;

/** The path of a request in the access log. */
function loggedPath(start: string, host = 'relay.example'): string | undefined {
  const bytes = Buffer.from(
    `${start} HTTP/1.1\r\nHost: ${host}\r\nReferer: https://${host}/invite/${TOKEN}\r\n\r\n`,
  );
  const plan = parseRequest(bytes, {
    hosts: new HostResolver({ own: 'relay.example', tunnel: 'tunnels.example', service: 'tunnels.example' }),
    ...onlyTunnel(tunnel),
    pathForm: true,
  } as unknown as EdgeContext);
  assert.ok(typeof plan === 'object');
  const entries: AccessEntry[] = [];
  new AccessRecord((entry) => entries.push(entry), '192.0.2.1', plan, NO_PROGRESS).end(
    'answered',
    NO_PROGRESS,
    200,
  );
  assert.ok(!JSON.stringify(entries).includes(TOKEN));
  return entries[0]?.path;
}

describe('the path in the access log', () => {
  const cases: [string, string, string?][] = [
    [`GET /invite/${TOKEN}`, '/invite/…'],
    [`GET /invite/${TOKEN.slice(0, 30)}`, '/invite/…'],
    [`GET /invite/${TOKEN}?x=${TOKEN}`, '/invite/…'],
    [`POST /v1/invites/${TOKEN}`, '/v1/invites/…'],
    [`GET http://relay.example/invite/${TOKEN}`, '/invite/…'],
    [`GET HTTP://relay.example:80/invite/${TOKEN}?x`, '/invite/…'],
    [`GET http://relay.example?${TOKEN}`, '/'],
    [`GET //invite/${TOKEN}`, '//invite/…'],
    [`GET /Invite/${TOKEN}.`, '/Invite/….'],
    [`GET /%69nvite/${TOKEN}`, '/%69nvite/…'],
    [`GET /invite%2F${TOKEN}`, '/…'],
    [`GET /x/${Buffer.from(TOKEN).toString('hex').replaceAll(/../g, '%$&')}`, '/x/…'],
    [`GET /${TOKEN}/${ID}`, `/…/${ID}`],
    // Mistyped, or of another host: the token is still valid at the relay.
    [`GET /invite/${TOKEN}`, '/invite/…', 'other.example'],
    [`GET http://other.example/invite/${TOKEN}`, '/invite/…', 'other.example'],
    [`GET /invite/${TOKEN}`, '/invite/…', 'nobody.tunnels.example'],
    [`GET /v1/tunnels/${ID}/extend`, `/v1/tunnels/${ID}/extend`],
    ['OPTIONS *', '*'],
  ];
  for (const [start, expected, host] of cases)
    it(`of ${start.replaceAll(TOKEN, 'TOKEN')} at ${host ?? 'the relay'} is ${expected}`, () =>
      assert.equal(loggedPath(start, host), expected));

  it('is unchanged if a tunnel serves it', () => {
    assert.equal(
      loggedPath('GET /assets/index-0123456789abcdef0123456789abcdef.js', 'abc.tunnels.example'),
      '/assets/index-0123456789abcdef0123456789abcdef.js',
    );
    assert.equal(loggedPath('GET http://abc.tunnels.example/x?y', 'abc.tunnels.example'), '/x');
    assert.equal(loggedPath('GET /t/abc/x?y'), '/t/abc/x');
  });
});

import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { parseFields } from '../../shared/http1/fields.ts';
import { onlyTunnel } from '../testing/edge-fixture.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { Notice } from './builtin-responses.ts';
import { HostResolver, parseRequest } from './route.ts';
import type { UpstreamRequest } from './exchange.ts';
import { Upstreams } from './upstreams.ts';

const HANDLER = { opened() {}, failed() {}, intercepted() {} };

describe('Upstreams', () => {
  const tunnel = {
    slug: 'abc',
    account: { id: 'one', subdomain: null },
    terms: { wildcard: false },
  } as unknown as LiveTunnel;
  /** groups of the requests to the API */
  let groups: string[];
  let indexed: boolean;
  let notice: Notice | undefined;

  beforeEach(() => {
    groups = [];
    indexed = false;
    notice = undefined;
  });

  /** @param head without the empty line */
  function request(head: string, address = '192.0.2.1'): UpstreamRequest {
    const dial = { cancel() {} };
    const upstreams = new Upstreams({
      context: {
        hosts: new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' }),
        ...onlyTunnel(tunnel),
        pathForm: true,
        trustedProxies: new BlockList(),
      },
      dialer: { dial: () => dial, isAway: () => true },
      api: {
        dial: (_handler, group) => {
          groups.push(group);
          return dial;
        },
      },
      endpoints: { handles: () => false, upgrade: () => Promise.resolve() },
      indexed,
      secureOnly: false,
      visitorAccess: {
        enter: () => undefined,
        submit: () => Promise.reject(new Error('no form')),
        standing: () => 'allowed',
      },
      notice,
      now: () => 0,
      wallTime: () => 0,
      unexpected: () => new ApiError(API_ERRORS.internal),
      tellOwner: () => {},
      accessLog: undefined,
    });
    const plan = parseRequest(Buffer.from(`${head}\r\n\r\n`, 'latin1'), upstreams.context);
    assert.ok(typeof plan === 'object' && (plan.route.kind === 'tunnel' || plan.route.kind === 'relay'));
    return upstreams.request(plan, plan.route, { address, proto: 'http', trusted: false }, undefined);
  }

  it('never sends a request twice if that could repeat its effect', () => {
    const ways = [
      ['GET', '', true],
      ['HEAD', '', true],
      ['DELETE', '', true],
      ['PUT', '\r\nContent-Length: 1', false],
      ['POST', '', false],
      ['PATCH', '', false],
    ] as const;
    for (const [method, fields, isRepeatable] of ways) {
      const { repeatable } = request(`${method} / HTTP/1.1\r\nHost: abc.localhost${fields}`);
      assert.deepEqual([method, repeatable], [method, isRepeatable]);
    }
  });

  it('shares no stream whose connection a visitor has authenticated', () => {
    const ways = [
      ['NTLM TlRMTVNTUAAD', false],
      ['Negotiate YII', false],
      ['negotiate', false],
      ['Basic YTpi', true],
      ['Bearer ntlm', true],
      ['NTLMv3 x', true],
    ] as const;
    for (const [credentials, mayBeKept] of ways) {
      const head = `GET / HTTP/1.1\r\nHost: abc.localhost\r\nAuthorization: ${credentials}`;
      assert.deepEqual([credentials, request(head).keepsStream], [credentials, mayBeKept ? 'any' : 'own']);
    }
  });

  it('schedules each network of visitors separately at the API', () => {
    for (const address of ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::2'])
      request('GET /v1/account HTTP/1.1\r\nHost: localhost', address).open(HANDLER);
    assert.deepEqual(groups, ['192.0.2.1', '192.0.2.2', '2001:db8:0:0::/64', '2001:db8:0:0::/64']);
  });

  it("tells the API the address of the sender, and none of the request's own claims about it", () => {
    const { head } = request('GET /v1/account HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 198.51.100.9');
    assert.deepEqual(head.toString('latin1').match(/^x-forwarded-for:.*/gim), ['X-Forwarded-For: 192.0.2.1']);
  });

  it('limits the cookies of a tunnel with its own host to that host', () => {
    const [cookie] = parseFields(Buffer.from('Set-Cookie: a=1; Domain=localhost\r\n\r\n'), 0) ?? [];
    const { mapField } = request('GET / HTTP/1.1\r\nHost: abc.localhost');
    assert.equal(cookie && mapField?.(cookie), 'a=1');
  });

  it('does not let a tunnel set the cookie that records who has seen its notice', () => {
    notice = new Notice({ secret: 's', secure: false, contact: undefined, now: () => 0 });
    const [own, other] =
      parseFields(Buffer.from('Set-Cookie: culvert-notice=1.x; Path=/\r\nSet-Cookie: a=1\r\n\r\n'), 0) ?? [];
    for (const head of ['/ HTTP/1.1\r\nHost: abc.localhost', '/t/abc/ HTTP/1.1\r\nHost: localhost']) {
      const { mapField } = request(`GET ${head}`);
      assert.equal(own && mapField?.(own), undefined);
      assert.notEqual(other && mapField?.(other), undefined);
    }
  });

  it('keeps both forms of a tunnel out of search engines, unless they are allowed', () => {
    for (indexed of [false, true]) {
      for (const head of ['/t/abc/ HTTP/1.1\r\nHost: localhost', '/ HTTP/1.1\r\nHost: abc.localhost']) {
        const { stays, ends } = request(`GET ${head}`).ending;
        const hidden = [stays, ends].map((text) => text.includes('X-Robots-Tag: noindex\r\n'));
        assert.deepEqual(hidden, [!indexed, !indexed]);
      }
    }
  });
});

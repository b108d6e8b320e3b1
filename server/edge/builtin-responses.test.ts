import assert from 'node:assert/strict';
import { parseRequestHead } from '../../shared/http1/head.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { Notice, NOTICE_COOKIE_SECONDS, type NoticeOptions } from './builtin-responses.ts';

const FREE = { id: 'tunnel-1', account: { plan: 'free' } } as unknown as LiveTunnel;
const OTHER = { id: 'tunnel-2', account: { plan: 'free' } } as unknown as LiveTunnel;
const DEV = { id: 'tunnel-3', account: { plan: 'dev' } } as unknown as LiveTunnel;
const START = Date.UTC(2026, 0, 1);
const SEEN = 'culvert_notice=seen';

/** A page visit, with overrides. */
interface Asked {
  readonly tunnel?: LiveTunnel;
  readonly prefix?: string;
  readonly target?: string;
  readonly method?: string;
  readonly mode?: string;
  readonly site?: string;
  readonly cookie?: string;
  readonly accept?: string;
}

describe('Notice', () => {
  let now: number;

  beforeEach(() => {
    now = START;
  });

  function ask(asked: Asked = {}, options: Partial<NoticeOptions> = {}): string | undefined {
    const {
      tunnel = FREE,
      prefix = '',
      target = '/',
      method = 'GET',
      mode = 'navigate',
      site = 'none',
      accept = 'text/html,*/*;q=0.8',
    } = asked;
    const cookie = asked.cookie === undefined ? '' : `Cookie: ${asked.cookie}\r\n`;
    const fields = mode === '' ? '' : `Sec-Fetch-Mode: ${mode}\r\nSec-Fetch-Site: ${site}\r\n`;
    const text = `${method} ${prefix}${target} HTTP/1.1\r\nHost: a.localhost\r\nAccept: ${accept}\r\n${fields}${cookie}\r\n`;
    const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 1000, fields: 9 });
    assert.ok(typeof head === 'object', text);
    const notice = new Notice({ secret: 's', secure: true, contact: undefined, now: () => now, ...options });
    return notice.responseTo(head, { tunnel, prefix, target })?.bytes(false).toString('latin1');
  }

  /** The cookie that a click on the link sets. */
  function click(asked: Asked = {}, options?: Partial<NoticeOptions>): string {
    const response = ask({ ...asked, target: `/?${SEEN}`, site: 'same-origin' }, options);
    return /Set-Cookie: ([^;]*);/.exec(response ?? '')?.[1] ?? assert.fail(response);
  }

  it('is never HTML for a request that does not prefer it', () => {
    for (const accept of ['application/json', '*/*', 'application/json, text/event-stream']) {
      const response = ask({ accept }) ?? '';
      assert.match(response, /^HTTP\/1\.1 403 [^]*\r\n\r\n\{"error":"[^"]+","code":"notice"\}$/);
      assert.match(response, /\r\nContent-Type: application\/json/);
    }
  });

  it('is for page visits of tunnels on the free plan, frames among them, and for nothing else', () => {
    assert.match(ask() ?? '', /^HTTP\/1\.1 403 .*\r\n[^]*Culvert-Error: notice\r\n/);
    for (const mode of ['cors', 'no-cors', 'same-origin', 'websocket', ''])
      assert.equal(ask({ mode }), undefined);
    for (const method of ['HEAD', 'POST', 'OPTIONS']) assert.equal(ask({ method }), undefined);
    assert.equal(ask({ tunnel: DEV }), undefined);
  });

  it('cannot be framed, cached or indexed, loads nothing, and runs no script', () => {
    const response = ask() ?? '';
    for (const field of ['X-Frame-Options: DENY', 'Cache-Control: no-store', 'X-Robots-Tag: noindex'])
      assert.ok(response.includes(`\r\n${field}\r\n`), field);
    assert.match(response, /\r\nContent-Security-Policy: default-src 'none';.*frame-ancestors 'none'/);
    assert.doesNotMatch(response, /<script|<link|<img|src=/);
  });

  it('redirects to the address without its parameter, with a cookie for this tunnel only', () => {
    assert.match(ask({ target: '/x?a=1&b' }) ?? '', /href="\/x\?a=1&amp;b&amp;culvert_notice=seen"/);
    const response = ask({ target: `/x?a=1&b&${SEEN}`, site: 'same-origin' }) ?? '';
    assert.match(response, /^HTTP\/1\.1 303 .*\r\n[^]*\r\nLocation: \/x\?a=1&b\r\n/);
    assert.match(
      response,
      /\r\nSet-Cookie: __Host-culvert-notice=\S+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure\r\n/,
    );
    assert.equal(ask({ cookie: `a=1; ${click()}; b` }), undefined);
    assert.match(ask({ cookie: click(), target: `/x?${SEEN}` }) ?? '', /\r\nLocation: \/x\r\n/);
    assert.notEqual(ask({ cookie: click(), tunnel: OTHER }), undefined);
  });

  it('sets a cookie below the prefix in the path form, which is not valid in the other form', () => {
    const prefix = '/t/abc';
    const response = ask({ prefix, target: `/?${SEEN}`, site: 'same-origin' }) ?? '';
    assert.match(response, /\r\nLocation: \/t\/abc\/\r\n/);
    assert.match(response, /\r\nSet-Cookie: (culvert-notice=\S+); Path=\/t\/abc; /);
    assert.equal(ask({ prefix, cookie: click({ prefix }) }), undefined);
    assert.notEqual(ask({ cookie: `__Host-${click({ prefix })}` }), undefined);
  });

  it('sets a cookie that works over http if there is no https', () => {
    const cookie = click({}, { secure: false });
    assert.match(cookie, /^culvert-notice=/);
    assert.equal(ask({ cookie }, { secure: false }), undefined);
  });

  it('is shown again after a link that only looks like its own', () => {
    for (const site of ['none', 'cross-site', 'same-site'])
      assert.match(
        ask({ target: `/?${SEEN}`, site }) ?? '',
        /^HTTP\/1\.1 403 [^]*href="\/\?culvert_notice=seen"/,
      );
  });

  it('accepts no cookie that another key signed, that was changed, or that has expired', () => {
    const cookie = click();
    assert.notEqual(ask({ cookie }, { secret: 'other' }), undefined);
    assert.notEqual(ask({ cookie: cookie.replace(/=(\d+)/, (_, end) => `=${Number(end) + 1}`) }), undefined);
    for (const value of ['', '1', '.', `9999999999.${'A'.repeat(43)}`, '9'.repeat(5000)])
      assert.notEqual(ask({ cookie: `__Host-culvert-notice=${value}` }), undefined, value);
    // A cookie that another site has added does no harm.
    assert.equal(ask({ cookie: `__Host-culvert-notice=1.x; ${cookie}` }), undefined);
    now = START + NOTICE_COOKIE_SECONDS * 1000 - 1;
    assert.equal(ask({ cookie }), undefined);
    now += 1;
    assert.notEqual(ask({ cookie }), undefined);
  });

  it('links only to its own host, and shows the requested address as text', () => {
    for (const target of ['//evil.example/', '/\\evil.example/']) {
      const response = ask({ target: `${target}?${SEEN}`, site: 'same-origin' }) ?? '';
      const [, location = ''] = /\r\nLocation: (.*)\r\n/.exec(response) ?? [];
      assert.equal(new URL(location, 'https://a.localhost').host, 'a.localhost', location);
    }
    assert.doesNotMatch(ask({ target: '/"><script>alert(1)</script>' }) ?? '', /"><script/);
    assert.match(ask({ target: '/\u00e9' }) ?? '', /href="\/%e9\?/);
  });
});

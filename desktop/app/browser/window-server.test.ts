import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { FakeClock } from '../../testing/fake-clock.ts';
import {
  PageAccess,
  requestProblem,
  sessionCookie,
  WindowServer,
  UI_PING_MS,
  UI_SESSIONS_MAX,
  UI_TOKENS_MAX,
} from './window-server.ts';

const HOST = '127.0.0.1:4040';

function request(headers: Record<string, string> = {}, method = 'GET'): IncomingMessage {
  const all: Record<string, string> = { host: HOST, ...headers };
  return { method, headers: all, rawHeaders: Object.entries(all).flat() } as unknown as IncomingMessage;
}

describe('PageAccess', () => {
  it('exchanges each token once', () => {
    const access = new PageAccess();
    const token = access.createToken();
    assert.ok(access.isUnused(token) && !access.isUnused(''));
    assert.match(token, /^[\w-]{22}$/);
    assert.notEqual(access.exchange(token), undefined);
    assert.equal(access.exchange(token), undefined);
    assert.equal(access.exchange(''), undefined);
    assert.equal(access.isUnused(token), false);
  });

  it('needs the cookie of a session and its key', () => {
    const access = new PageAccess();
    const [one, other] = [0, 1].map(() => access.exchange(access.createToken()) ?? assert.fail());
    assert.ok(one !== undefined && other !== undefined);
    const cookie = sessionCookie(request(), one).split(';')[0] ?? '';
    assert.equal(access.hasSession(request({ cookie, 'x-culvert-key': one.key })), true);
    assert.equal(
      access.hasSession(request({ cookie, 'sec-websocket-protocol': `culvert, ${one.key}` })),
      true,
    );
    assert.equal(access.hasSession(request({ cookie })), false);
    assert.equal(access.hasSession(request({ cookie, 'x-culvert-key': other.key })), false);
    assert.equal(access.hasSession(request({ 'x-culvert-key': one.key })), false);
  });

  it('finds its cookie beside those of other servers on this machine', () => {
    const access = new PageAccess();
    const session = access.exchange(access.createToken()) ?? assert.fail();
    const cookie = `culvert-4041=x; culvert-4040=forged; culvert-4040=${session.cookie}; a=b=c`;
    assert.equal(access.hasSession(request({ cookie, 'x-culvert-key': session.key })), true);
  });

  it('keeps a limited number of tokens and sessions, the newest ones', () => {
    const access = new PageAccess();
    const tokens = Array.from({ length: UI_TOKENS_MAX + 1 }, () => access.createToken());
    assert.equal(access.exchange(tokens[0] ?? ''), undefined);
    const first = access.exchange(tokens[1] ?? '') ?? assert.fail();
    const has = (): boolean =>
      access.hasSession(request({ cookie: `culvert-4040=${first.cookie}`, 'x-culvert-key': first.key }));
    for (let count = 1; count < UI_SESSIONS_MAX; count += 1) access.exchange(access.createToken());
    assert.equal(has(), true);
    access.exchange(access.createToken());
    assert.equal(has(), false);
  });
});

describe('WindowServer', () => {
  it('leaves no timer behind when it is closed', async () => {
    const clock = new FakeClock();
    const handler = { call: assert.fail, stateChanged() {}, clicked() {}, closed() {} };
    const server = new WindowServer({ directory: '/', clock, handler, isRemote: false });
    await server.listen('127.0.0.1', 0);
    clock.advance(UI_PING_MS);
    assert.equal(clock.waiting.length, 1);
    server.close();
    assert.deepEqual(clock.waiting, []);
  });
});

describe('requestProblem', () => {
  it('accepts what a browser sends for its own page', () => {
    for (const host of [HOST, 'localhost:4040', '[::1]:4040', 'localhost:5050', 'localhost']) {
      assert.equal(requestProblem(request({ host }), false), undefined, host);
      const origin = `http://${host}`;
      assert.equal(requestProblem(request({ host, origin }, 'POST'), false), undefined, host);
      assert.equal(requestProblem(request({ host, origin, upgrade: 'websocket' }), false), undefined, host);
    }
  });

  it('refuses other names, however they are written', () => {
    for (const host of [
      '',
      'evil.example',
      'localhost.',
      '127.0.0.1.',
      '127.1',
      '0x7f.1',
      'LOCALHOST',
      'a@localhost',
      'localhost/x',
      '192.0.2.7',
    ])
      assert.notEqual(requestProblem(request({ host }), false), undefined, host);
  });

  it('accepts addresses of other machines, and no names, if they may connect', () => {
    for (const host of ['192.0.2.7:4040', '[2001:db8::7]:4040', HOST])
      assert.equal(requestProblem(request({ host }), true), undefined, host);
    assert.notEqual(requestProblem(request({ host: 'evil.example:4040' }), true), undefined);
  });

  it('refuses changes and upgrades without an origin', () => {
    assert.notEqual(requestProblem(request({}, 'POST'), false), undefined);
    assert.notEqual(requestProblem(request({ upgrade: 'websocket' }), false), undefined);
  });
});

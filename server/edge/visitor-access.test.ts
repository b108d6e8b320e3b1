import assert from 'node:assert/strict';
import { parseRequestHead, type RequestHead } from '../../shared/http1/head.ts';
import { AccessCheck } from '../access/access-check.ts';
import { AccessPolicy } from '../access/access-policy.ts';
import { LinkTokens, Passes } from '../access/passes.ts';
import { hashKey } from '../accounts/api-keys.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { StoredAccess } from '../store/records.ts';
import { fakeAgents } from '../testing/fake-agents.ts';
import { StoreError } from '../store/store-errors.ts';
import { anAccess } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { noSignIn } from '../testing/fake-provider.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { AgentEntrance } from '../oauth/entrance.ts';
import { BusyError } from '../turnstile.ts';
import {
  ACCESS_ATTEMPTS_PER_MINUTE,
  type Entry,
  isAllowedVisitor,
  isFormEntry,
  TUNNEL_ATTEMPTS_PER_MINUTE,
  VisitorAccess,
} from './visitor-access.ts';

const TOKEN = 'cvp_0123456789abcdefghijklmnopqrstuv';
const TOKENS = { tokens: [{ name: 'ci', hash: hashKey(TOKEN) }] };
const BASIC = { basic: [{ user: 'ann', hash: 'fern' }] };

describe('VisitorAccess', () => {
  let clock: FakeClock;
  let visitorAccess: VisitorAccess;
  let links: LinkTokens;
  let tunnel: {
    id: string;
    linkScope: string;
    linksSince: number;
    account: { id: string };
    access: AccessPolicy | undefined;
    tokenUses: { note: (hash: string) => void };
  };
  /** hashes of used tokens */
  let used: string[];
  /** whether too many passwords wait */
  let isBusy: boolean;
  /** called when a password is checked */
  let onCheck: () => void;
  let checks: number;
  /** by their token */
  let agents: Map<string, ReturnType<AgentEntrance['find']>>;

  beforeEach(() => {
    clock = new FakeClock();
    isBusy = false;
    checks = 0;
    agents = new Map();
    onCheck = () => {};
    used = [];
    tunnel = {
      id: 'one',
      linkScope: 'one',
      linksSince: 0,
      account: { id: 'acme' },
      access: undefined,
      tokenUses: { note: (hash) => used.push(hash) },
    };
    const passes = new Passes('visit', () => ({ current: 'key', others: [] }));
    const lastingPasses = new Passes('lasting', () => ({ current: 'key', others: [] }));
    const personPasses = new Passes('person', () => ({ current: 'key', others: [] }));
    links = new LinkTokens(() => ({ current: 'secret', others: [] }));
    const rate = (perMinute: number): RateLimiter => new RateLimiter(clock, { perMinute, burst: perMinute });
    visitorAccess = new VisitorAccess({
      gate: new AccessCheck({
        passes,
        lastingPasses,
        personPasses,
        links,
        cookieName: () => 'pass',
        isGood: () => true,
      }),
      passes,
      lastingPasses,
      personPasses,
      signIn: noSignIn(clock),
      agents: fakeAgents(agents, used),
      hashes: {
        // The password itself is used instead of a hash.
        matches: async (password, hash) => {
          checks += 1;
          await Promise.resolve();
          onCheck();
          if (isBusy) throw new BusyError();
          return password === hash;
        },
      },
      knocking: { respond: () => undefined },
      onceLinks: { use: () => Promise.reject(new StoreError('away')), isKnownUsed: () => false },
      attempts: rate(ACCESS_ATTEMPTS_PER_MINUTE),
      tunnelAttempts: rate(TUNNEL_ATTEMPTS_PER_MINUTE),
      secure: false,
      contact: undefined,
      now: () => clock.now(),
    });
  });

  function lock(fields: Partial<StoredAccess>): void {
    tunnel.access = new AccessPolicy(anAccess(fields));
  }

  /** @returns a callback that changes the access policy, once */
  function changeTo(access: Partial<StoredAccess> | undefined): () => void {
    return () => {
      onCheck = () => {};
      if (access === undefined) tunnel.access = undefined;
      else lock(access);
    };
  }

  function visitTo(target: string) {
    const where = { tunnel: tunnel as unknown as LiveTunnel, prefix: '', target };
    return { ...where, link: undefined, upgrade: false, hasBody: false };
  }

  /** Sends a user's name and password. */
  async function visit(password: string, address = '192.0.2.1', user = 'ann'): Promise<number | string> {
    const credentials = Buffer.from(`${user}:${password}`).toString('base64');
    const head = headOf(`GET / HTTP/1.1\r\nHost: a.test\r\nAuthorization: Basic ${credentials}\r\n\r\n`);
    return outcome(
      await visitorAccess.enter(head, visitTo('/'), { address, network: address, trusted: false }),
    );
  }

  /** Submits the page's form, whose head arrives before `meanwhile` runs. */
  async function submit(
    password: string,
    address = '192.0.2.1',
    meanwhile: () => void = () => {},
  ): Promise<number> {
    const head = headOf('POST /?culvert_gate HTTP/1.1\r\nHost: a.test\r\n\r\n');
    const from = { address, network: address, trusted: false };
    const entry = await visitorAccess.enter(head, visitTo('/?culvert_gate'), from);
    assert.ok(entry !== undefined && isFormEntry(entry));
    meanwhile();
    return (await visitorAccess.submit(head, entry, from, `culvert_password=${password}`)).status;
  }

  /** Sends a token. */
  function send(
    token: string,
    { address = '192.0.2.1', target = '/', accept = '*/*', method = 'GET' } = {},
  ): Entry | undefined {
    const fields = `Accept: ${accept}\r\nAuthorization: Bearer ${token}\r\n`;
    const head = headOf(`${method} ${target} HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`);
    const entry = visitorAccess.enter(head, visitTo(target), { address, network: address, trusted: false });
    assert.ok(!(entry instanceof Promise));
    return entry;
  }

  /** The same for a token that has to be looked up. */
  function sendSlowly(token: string): Promise<Entry | undefined> {
    const head = headOf(`GET / HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    const from = { address: '192.0.2.1', network: '192.0.2.1', trusted: false };
    return Promise.resolve(visitorAccess.enter(head, visitTo('/'), from));
  }

  /** @returns the outcome of opening a signed link */
  function openLink(fields: string, { method = 'GET', upgrade = false } = {}): number | string {
    const head = headOf(`${method} /?a HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`);
    const link = links.make('one', { id: '0123456789abcdef', note: '', end: 1e10 });
    const visitor = { ...visitTo('/?a'), upgrade, link };
    const entry = visitorAccess.enter(head, visitor, { address: 'a', network: 'a', trusted: false });
    assert.ok(!(entry instanceof Promise));
    return outcome(entry);
  }

  it('lets nobody use a link for one browser while the store is down', async () => {
    lock({ links: true });
    const head = headOf(
      `GET / HTTP/1.1\r\nHost: a.test\r\nSec-Fetch-Mode: navigate\r\nCookie: culvert-sign-in=${'a'.repeat(22)}\r\n\r\n`,
    );
    const link = links.make('one', { id: '0123456789abcdef', note: '', end: 1e10, once: true });
    const from = { address: 'a', network: 'a', trusted: false };
    assert.equal(outcome(await visitorAccess.enter(head, { ...visitTo('/'), link }, from)), 503);
  });

  /** Tries as many wrong passwords, each from another address. */
  async function flood(tries: number): Promise<Set<number | string>> {
    const outcomes = new Set<number | string>();
    for (let each = 0; each < tries; each += 1) outcomes.add(await visit('wrong', `198.51.100.${each}`));
    return outcomes;
  }

  describe('when many addresses try passwords', () => {
    beforeEach(() => lock({ ...BASIC, password: 'oak' }));

    it('checks 60 wrong passwords a minute for a tunnel, and then none', async () => {
      assert.deepEqual(await flood(TUNNEL_ATTEMPTS_PER_MINUTE), new Set([401]));
      const before = checks;
      for (let each = 0; each < ACCESS_ATTEMPTS_PER_MINUTE; each += 1)
        assert.equal(await visit('fern', '203.0.113.1'), 429);
      assert.equal(await submit('oak', '203.0.113.1'), 429);
      assert.equal(checks, before);
      clock.advance(60_000 / TUNNEL_ATTEMPTS_PER_MINUTE);
      assert.equal(await visit('fern', '203.0.113.1'), 'in');
    });

    it('accepts the right password from an address that has used it before, and from no other', async () => {
      assert.equal(await visit('fern', '203.0.113.1'), 'in');
      assert.equal(await submit('oak', '203.0.113.2'), 303);
      await flood(TUNNEL_ATTEMPTS_PER_MINUTE);
      assert.equal(await visit('fern', '203.0.113.1'), 'in');
      assert.equal(await visit('fern', '203.0.113.2'), 'in');
      assert.equal(await submit('oak', '203.0.113.1'), 303);
      assert.equal(await visit('fern', '203.0.113.3'), 429);
      assert.equal(await visit('wrong', '203.0.113.1'), 401);
    });

    it('remembers the address of a visitor whose password was cached', async () => {
      assert.equal(await visit('fern', '203.0.113.1'), 'in');
      assert.equal(await visit('fern', '203.0.113.2'), 'in');
      assert.equal(checks, 1);
      await flood(TUNNEL_ATTEMPTS_PER_MINUTE);
      assert.equal(await visit('fern', '203.0.113.2'), 'in');
    });

    it('checks 10 wrong passwords a minute from one address, whether it is known or not', async () => {
      for (const right of [false, true]) {
        if (right) assert.equal(await visit('fern', '203.0.113.1'), 'in');
        for (let each = 0; each < ACCESS_ATTEMPTS_PER_MINUTE; each += 1)
          assert.equal(await visit('wrong', '203.0.113.1'), 401);
        assert.equal(await visit('fern', '203.0.113.1'), 429);
        clock.advance(60_000);
      }
    });

    it('gives tries back to their address and to the tunnel if the password was not checked', async () => {
      isBusy = true;
      for (let each = 0; each <= TUNNEL_ATTEMPTS_PER_MINUTE; each += 1)
        assert.equal(await visit('fern', `198.51.100.${each % 2}`), 429);
      isBusy = false;
      for (const address of ['198.51.100.0', '203.0.113.1'])
        assert.equal(await visit('wrong', address), 401, address);
    });

    it('does not affect other tunnels, and does not count passwords that were right', async () => {
      for (let each = 0; each <= TUNNEL_ATTEMPTS_PER_MINUTE; each += 1)
        assert.equal(await submit('oak', `192.0.2.${each}`), 303);
      await flood(TUNNEL_ATTEMPTS_PER_MINUTE);
      assert.equal(await visit('fern', '203.0.113.9'), 429);
      tunnel.id = 'two';
      assert.equal(await visit('fern', '203.0.113.9'), 'in');
    });
  });

  describe('when the access policy changes while a password is checked', () => {
    it('refuses a password that was right under the previous policy', async () => {
      for (const change of [
        { basic: [{ user: 'ann', hash: 'other' }] },
        { basic: [{ user: 'bob', hash: 'fern' }] },
        { links: true },
      ]) {
        lock(BASIC);
        onCheck = changeTo(change);
        assert.equal(await visit('fern'), 401, JSON.stringify(change));
      }
      lock(BASIC);
      onCheck = changeTo({ ...BASIC, allow: ['10.0.0.0/8'] });
      assert.equal(await visit('fern'), 403);
    });

    it('gives access to a visitor who meets the new policy', async () => {
      lock(BASIC);
      onCheck = changeTo(undefined);
      assert.equal(await visit('other'), 'open');
      lock(BASIC);
      onCheck = changeTo({ basic: [{ user: 'ann', hash: 'other' }] });
      assert.equal(await visit('other'), 'in');
    });

    it('applies the new policy to the form of the page', async () => {
      for (const [change, status] of [
        [{ password: 'other' }, 401],
        [{ password: 'oak', allow: ['10.0.0.0/8'] }, 403],
        [undefined, 303],
      ] as const) {
        lock({ password: 'oak' });
        onCheck = changeTo(change);
        assert.equal(await submit('oak'), status, JSON.stringify(change));
      }
    });
  });

  describe('with agents', () => {
    const AGENT = { id: '0123456789abcdef', visitor: 'agent:0123456789abcdef:claude.ai' };

    beforeEach(() => {
      lock({ oauth: true });
      agents.set('cva_right', AGENT).set('cva_old', 'expired').set('cva_known', Promise.resolve(AGENT));
    });

    it('gives access without a cookie, and notes the use', async () => {
      const { version } = tunnel.access ?? {};
      const kept = { authorization: true };
      const allowed = { visitor: AGENT.visitor, agent: AGENT, version, kept, cookie: undefined };
      assert.deepEqual(send('cva_right'), allowed);
      assert.deepEqual(await sendSlowly('cva_known'), allowed);
      assert.deepEqual(used, [AGENT.id, AGENT.id]);
    });

    it('counts wrong tokens, but neither those that the agent renews nor those that nobody can look up now', async () => {
      for (let each = 0; each < ACCESS_ATTEMPTS_PER_MINUTE; each += 1) {
        assert.match(read(send('cva_old')).text, /401[^]*resource_metadata="here", error="invalid_token"/);
        assert.equal(outcome(send(`cva_${each}`)), 401);
      }
      assert.equal(outcome(send('cva_wrong')), 429);
      assert.equal(outcome(send('cva_old')), 401);
      assert.equal(outcome(send('cva_right')), 'in');
      agents.set('cva_busy', Promise.reject(new BusyError()));
      assert.equal(outcome(await sendSlowly('cva_busy')), 503);
      assert.equal(outcome(send('of-another-kind')), 401);
    });

    it('applies the policy that the owner sets while the agent is looked up', async () => {
      const entry = sendSlowly('cva_known');
      lock({ password: 'oak' });
      assert.equal(outcome(await entry), 401);
    });

    it('ends with the agent, with the right of its person, and with the policy that takes agents', () => {
      const revoked = new Set<string>();
      const person = { ...AGENT, visitor: `${AGENT.visitor};user::e:ann@example.com` };
      const standing = (agent: typeof AGENT): string =>
        visitorAccess.standing({ ...tunnel, revokedLinks: revoked } as unknown as LiveTunnel, '192.0.2.1', {
          visitor: agent.visitor,
          agent,
          version: 'other',
          kept: { authorization: true },
          cookie: undefined,
        });
      assert.deepEqual([standing(AGENT), standing(person)], ['allowed', 'allowed']);
      lock({ oauth: true, sign_in: ['bob@example.com'] });
      assert.deepEqual([standing(AGENT), standing(person)], ['allowed', 'revoked']);
      revoked.add(AGENT.id);
      assert.equal(standing(AGENT), 'revoked');
      revoked.clear();
      lock({ knock: true });
      assert.equal(standing(AGENT), 'revoked');
    });
  });

  describe('with tokens', () => {
    const ALLOWED = {
      visitor: 'token:ci',
      token: hashKey(TOKEN),
      kept: { authorization: true },
      cookie: undefined,
    };

    beforeEach(() => lock(TOKENS));

    it('gives access without a cookie, and notes the use', () => {
      assert.deepEqual(send(TOKEN), { ...ALLOWED, version: tunnel.access?.version });
      assert.deepEqual(used, [hashKey(TOKEN)]);
    });

    it('accepts the right one however many wrong ones others send, and refuses more than 10 of those a minute', async () => {
      lock({ ...TOKENS, ...BASIC });
      for (let each = 0; each < ACCESS_ATTEMPTS_PER_MINUTE; each += 1) {
        assert.equal(outcome(send(`${TOKEN}${each}`)), 401);
        assert.equal(outcome(send(TOKEN)), 'in', 'right ones are not counted');
      }
      const { status, text } = read(send('wrong'));
      assert.equal(status, 429);
      assert.match(text, /\r\nRetry-After: 60\r\n/);
      assert.match(text, /\r\n\r\n\{"error":"[^"]+","code":"access-attempts"\}$/);
      assert.equal(outcome(send('wrong', { address: '192.0.2.2' })), 401);
      await flood(TUNNEL_ATTEMPTS_PER_MINUTE);
      assert.equal(await visit('fern', '203.0.113.2'), 429);
      for (const address of ['192.0.2.1', '203.0.113.2'])
        assert.equal(outcome(send(TOKEN, { address })), 'in');
      clock.advance(60_000 / ACCESS_ATTEMPTS_PER_MINUTE);
      assert.deepEqual([outcome(send('wrong')), outcome(send('wrong'))], [401, 429]);
    });

    it('does not count wrong ones against the passwords of other addresses', async () => {
      lock({ ...TOKENS, ...BASIC });
      for (let each = 0; each <= TUNNEL_ATTEMPTS_PER_MINUTE; each += 1)
        assert.equal(outcome(send('wrong', { address: `198.51.100.${each}` })), 401);
      assert.equal(await visit('fern', '203.0.113.2'), 'in');
    });

    it('names the scheme, and also Basic if the policy has users', () => {
      const bearer = 'WWW-Authenticate: Bearer realm="culvert"\r\n';
      assert.ok(read(send('wrong')).text.includes(bearer));
      lock({ ...TOKENS, ...BASIC });
      const { text } = read(send('wrong'));
      assert.ok(text.includes(bearer) && text.includes('WWW-Authenticate: Basic '));
      lock(BASIC);
      assert.ok(!read(send('wrong')).text.includes('Bearer'));
    });

    it('tells programs that look for an authorization server that it does not exist', () => {
      const names = ['oauth-protected-resource', 'oauth-authorization-server', 'openid-configuration'];
      const [known = '', ...more] = names.map((name) => `/.well-known/${name}`);
      const gets = [known, ...more].flatMap((target) => [target, `${target}/mcp`, `${target}?a`]);
      const all = [
        ...gets.map((target) => ['GET', target] as const),
        ...['/register', '/register?a'].map((target) => ['POST', target] as const),
      ];
      for (const access of [TOKENS, BASIC, { ...TOKENS, ...BASIC }]) {
        lock(access);
        for (const [method, target] of all) {
          const asked = { method, target, accept: 'text/html', address: target };
          const { status, text } = read(send('wrong', asked));
          assert.equal(status, 404, target);
          assert.match(text, /\r\nCulvert-Error: not-found\r\n/);
          assert.ok(text.endsWith('\r\n\r\n{"error":"not found","code":"not-found"}'), text);
        }
      }
      lock(TOKENS);
      for (const [method, target] of [
        ['GET', `${known}s`],
        ['GET', '/.well-known/'],
        ['GET', `/a${known}`],
        ['GET', '/register'],
        ['POST', '/register/x'],
        ['POST', '/a/register'],
      ] as const)
        assert.equal(outcome(send('wrong', { method, target, address: target })), 401, target);
      for (const [method, target] of all) assert.equal(outcome(send(TOKEN, { method, target })), 'in');
      lock({ ...TOKENS, links: true });
      assert.equal(outcome(send('wrong', { target: known, address: 'b' })), 401);
    });

    it('counts wrong tokens at those addresses as well', () => {
      const target = '/.well-known/oauth-protected-resource';
      for (let each = 0; each < ACCESS_ATTEMPTS_PER_MINUTE; each += 1)
        assert.equal(outcome(send('wrong', { target })), 404);
      assert.equal(outcome(send('wrong', { target })), 429);
    });

    it('lets visitors stay as long as the tunnel keeps their token, whatever else changes', () => {
      const entry = send(TOKEN);
      assert.ok(entry !== undefined && isAllowedVisitor(entry));
      const standing = () => visitorAccess.standing(tunnel as unknown as LiveTunnel, '192.0.2.1', entry);
      for (const [access, expected] of [
        [TOKENS, 'allowed'],
        [{ ...TOKENS, password: 'oak' }, 'allowed'],
        [{ tokens: [{ name: 'ci', hash: hashKey('other') }] }, 'revoked'],
        [{ password: 'oak' }, 'revoked'],
        [{ ...TOKENS, allow: ['10.0.0.0/8'] }, 'barred'],
      ] as const) {
        lock(access);
        assert.equal(standing(), expected, JSON.stringify(access));
      }
    });
  });

  it('answers with a page that tells no other site its address', () => {
    lock({ password: 'oak' });
    assert.match(read(send('x', { accept: 'text/html' })).text, /\r\nReferrer-Policy: no-referrer\r\n/);
  });

  describe('with a signed link', () => {
    const HTML = 'Accept: text/html,*/*;q=0.8\r\n';
    const cases = [
      [`Sec-Fetch-Mode: navigate\r\n${HTML}`, {}, 303],
      ['Sec-Fetch-Mode: navigate\r\n', { method: 'HEAD' }, 303],
      [HTML, {}, 303],
      [HTML, { method: 'POST' }, 'in'],
      [HTML, { upgrade: true }, 'in'],
      [`Sec-Fetch-Mode: cors\r\n${HTML}`, {}, 'in'],
      ['Accept: text/event-stream\r\n', {}, 'in'],
      ['Accept: */*\r\n', {}, 'in'],
      ['', {}, 'in'],
    ] as const;
    for (const [fields, request, expected] of cases)
      it(`answers ${expected} to ${JSON.stringify(request)} ${JSON.stringify(fields)}`, () => {
        lock({ links: true });
        assert.equal(openLink(fields, request), expected);
        tunnel.access = undefined;
        assert.equal(openLink(fields, request), expected === 'in' ? 'open' : expected);
      });
  });

  it('applies the current policy when the body of a form arrives', async () => {
    for (const [change, status] of [
      [{ password: 'other' }, 401],
      [{ password: 'oak', allow: ['10.0.0.0/8'] }, 403],
      [{ password: 'oak', links: true }, 303],
    ] as const) {
      lock({ password: 'oak' });
      assert.equal(await submit('oak', '192.0.2.1', () => lock(change)), status, JSON.stringify(change));
    }
  });
});

function headOf(text: string): RequestHead {
  const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 1000, fields: 9 });
  assert.ok(typeof head === 'object', text);
  return head;
}

/** The result of a request: the status, `in` for a visitor with access, `open` without an access policy. */
function outcome(entry: Entry | undefined): number | string {
  if (entry === undefined) return 'open';
  if (isFormEntry(entry)) return 'form';
  return isAllowedVisitor(entry) ? 'in' : entry.status;
}

/** The response of the relay. */
function read(entry: Entry | undefined): { status: number; text: string } {
  assert.ok(entry !== undefined && 'bytes' in entry);
  return { status: entry.status, text: entry.bytes(false).toString() };
}

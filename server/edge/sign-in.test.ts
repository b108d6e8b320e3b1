/** Sign-in at a tunnel, as its visitors see it (protocol.md section 11.5). */
import assert from 'node:assert/strict';
import { parseRequestHead, type RequestHead } from '../../shared/http1/head.ts';
import { AccessCheck } from '../access/access-check.ts';
import { AccessPolicy } from '../access/access-policy.ts';
import { LinkTokens, Passes } from '../access/passes.ts';
import { ARRIVAL_PARAMETER } from '../access/sign-in.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { StoredAccess } from '../store/records.ts';
import { fakeAgents } from '../testing/fake-agents.ts';
import { SignInFixture } from '../testing/fake-provider.ts';
import { anAccess } from '../testing/fixtures.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { OwnResponse } from './builtin-responses.ts';
import { passCookieName } from './request-head.ts';
import { type AllowedVisitor, isAllowedVisitor, VisitorAccess } from './visitor-access.ts';

const HOST = 'a.tunnels.test';
const HTML = 'Accept: text/html\r\n';
const PASS = '__Host-culvert-pass';

interface Asked {
  readonly method?: string;
  readonly target?: string;
  readonly fields?: string;
  readonly host?: string;
  readonly prefix?: string;
  readonly address?: string;
  readonly upgrade?: boolean;
}

describe('signing in at a tunnel', () => {
  let fixture: SignInFixture;
  let visitorAccess: VisitorAccess;
  let tunnel: {
    id: string;
    linkScope: string;
    linksSince: number;
    account: { id: string };
    access: AccessPolicy | undefined;
  };
  /** cookies of the browser */
  let jar: Map<string, string>;

  beforeEach(async () => {
    fixture = new SignInFixture();
    const { clock, signIn, provider } = fixture;
    jar = new Map();
    tunnel = { id: 'one', linkScope: 'one', linksSince: 0, account: { id: 'acme' }, access: undefined };
    fixture.tunnels.set('one', {
      get access() {
        return tunnel.access;
      },
      isAt: () => true,
    });
    const all = {
      passes: passesOf('visit'),
      lastingPasses: passesOf('lasting'),
      personPasses: passesOf('person'),
    };
    const unlimited = new RateLimiter(clock, { perMinute: 1000, burst: 1000 });
    visitorAccess = new VisitorAccess({
      gate: new AccessCheck({
        ...all,
        links: new LinkTokens(() => ({ current: 'key', others: [] })),
        cookieName: (form) => passCookieName(form, true),
        isGood: () => true,
      }),
      ...all,
      signIn,
      agents: fakeAgents(),
      hashes: { matches: (password, hash) => Promise.resolve(password === hash) },
      knocking: { respond: () => undefined },
      onceLinks: { use: () => Promise.resolve('first'), isKnownUsed: () => false },
      attempts: unlimited,
      tunnelAttempts: unlimited,
      secure: true,
      contact: undefined,
      now: () => clock.now(),
    });
    await provider.start();
  });

  function lock(fields: Partial<StoredAccess>): void {
    tunnel.access = new AccessPolicy(anAccess(fields));
  }

  /** @returns `undefined`: the request passes without a policy */
  async function ask(asked: Asked = {}): Promise<AllowedVisitor | OwnResponse | undefined> {
    const { target = '/', prefix = '', address = '192.0.2.1', upgrade = false } = asked;
    const head = headOf(asked);
    const visit = { tunnel: tunnel as unknown as LiveTunnel, prefix, target, link: undefined, upgrade };
    const from = { address, network: address, trusted: false };
    const entry = await visitorAccess.enter(head, { ...visit, hasBody: false }, from);
    if (entry !== undefined && 'form' in entry) assert.fail('a form');
    if (entry !== undefined && !isAllowedVisitor(entry))
      for (const cookie of fieldsOf(entry, 'set-cookie')) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        if (value === '') jar.delete(name);
        else jar.set(name, value);
      }
    return entry;
  }

  function headOf({
    method = 'GET',
    target = '/',
    fields = '',
    host = HOST,
    prefix = '',
  }: Asked): RequestHead {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const cookies = cookie === '' ? '' : `Cookie: ${cookie}\r\n`;
    const text = `${method} ${prefix}${target} HTTP/1.1\r\nHost: ${host}\r\n${fields}${cookies}\r\n`;
    const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 8192, fields: 20 });
    return typeof head === 'string' ? assert.fail(head) : head;
  }

  async function respond(asked: Asked = {}): Promise<OwnResponse> {
    const entry = await ask(asked);
    return entry !== undefined && !isAllowedVisitor(entry) ? entry : assert.fail('the visitor has access');
  }

  async function enter(asked: Asked = {}): Promise<AllowedVisitor> {
    const entry = await ask(asked);
    return entry !== undefined && isAllowedVisitor(entry) ? entry : assert.fail(entry?.lines ?? 'open');
  }

  /** From the address where the relay sends the browser to the one where it comes back to the tunnel. */
  async function through(response: OwnResponse): Promise<string> {
    const { signIn, fake } = fixture;
    const begin = new URL(fieldsOf(response, 'location')[0] ?? assert.fail(response.lines));
    const step = await signIn.depart(begin.searchParams, 'at the relay');
    if (step.kind !== 'onward') assert.fail(step.kind);
    const back = await fixture.finish(fake.signIn(step.location), 'at the relay');
    if (back.kind !== 'onward') assert.fail(back.kind);
    const { pathname, search } = new URL(back.location);
    return pathname + search;
  }

  /** Signs in. @returns the response at the tunnel */
  async function comeBack(asked: Asked = {}): Promise<OwnResponse> {
    const { prefix = '' } = asked;
    const back = await through(await respond({ ...asked, fields: HTML }));
    return await respond({ ...asked, target: back.slice(prefix.length), fields: HTML });
  }

  it('redirects people at once if that is the only way for them; tokens are for programs', async () => {
    for (const more of [{}, { tokens: [{ name: 'ci', hash: 'hash' }] }, { oauth: true }]) {
      lock({ sign_in: ['*'], ...more });
      for (const method of ['GET', 'HEAD', 'POST']) {
        const response = await respond({ fields: HTML, method });
        assert.equal(response.status, 302);
        assert.match(fieldsOf(response, 'location')[0] ?? '', /^https:\/\/relay\.test\/auth\/begin\?ticket=/);
        assert.match(
          fieldsOf(response, 'set-cookie')[0] ?? '',
          /^__Host-culvert-sign-in=[\w-]{22}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/,
        );
        assert.match(response.lines, /Cache-Control: no-store\r\n/);
      }
    }
  });

  it('refuses programs, WebSockets and preflights with JSON', async () => {
    lock({ sign_in: ['*'] });
    const preflight = 'Origin: https://app.test\r\nAccess-Control-Request-Method: PUT\r\n';
    for (const asked of [
      {},
      { method: 'POST' },
      { fields: HTML, upgrade: true },
      { method: 'OPTIONS', fields: preflight },
    ]) {
      const response = await respond(asked);
      assert.deepEqual([response.status, response.error], [401, 'access-required']);
    }
    assert.equal(JSON.parse((await respond()).body.toString()).code, 'access-required');
  });

  it('is offered first on the page if there are other ways', async () => {
    const ways = [
      { password: 'hash' },
      { links: true },
      { knock: true },
      { basic: [{ user: 'ann', hash: 'h' }] },
    ];
    for (const more of [...ways, Object.assign({}, ...ways) as Partial<StoredAccess>]) {
      lock({ sign_in: ['*'], ...more });
      const page = await respond({ target: '/a?b', fields: HTML });
      assert.equal(page.status, 401);
      const [first = '', others = ''] = page.body.toString().split('<details>');
      assert.match(first, /<a class="go" href="\/a\?b&amp;culvert_gate=sign_in">Sign in with Example<\/a>/);
      assert.match(others, /^<summary>Other ways<\/summary>/);
      assert.doesNotMatch(page.body.toString(), /autofocus/);
    }
    lock({ sign_in: ['*'], password: 'hash' });
    const response = await respond({ target: '/a?b&culvert_gate=sign_in', fields: HTML });
    assert.equal(response.status, 302);
    assert.match(await through(response), new RegExp(`^/a\\?b&${ARRIVAL_PARAMETER}=`));
  });

  it('gives a pass and leads to the wanted address', async () => {
    lock({ sign_in: ['*@example.com'] });
    const response = await comeBack({ target: '/a?b=c' });
    assert.equal(response.status, 303);
    assert.deepEqual(fieldsOf(response, 'location'), ['/a?b=c']);
    const [cookie = ''] = fieldsOf(response, 'set-cookie');
    assert.match(
      cookie,
      /^__Host-culvert-pass=person\.[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/,
    );
    const entrant = await enter();
    assert.equal(entrant.until, Math.floor(fixture.clock.now() / 1000) * 1000 + 43_200_000);
    assert.deepEqual(fieldsOf(await respond({ target: '/a?culvert_gate=sign_in' }), 'location'), ['/a']);
  });

  it('gives a pass that fits 4 KiB, for whoever signs in', async () => {
    const groups = Array.from({ length: 32 }, (_, index) => `${index}`.padEnd(128, '\u4E2D'));
    lock({ sign_in: groups.map((group) => `group:${group}`) });
    fixture.fake.claims = {
      sub: '\u4E2D'.repeat(255),
      groups: [...groups, ...Array.from({ length: 999 }, () => 'x'.repeat(99))],
    };
    const [cookie = ''] = fieldsOf(await comeBack(), 'set-cookie');
    assert.ok(cookie.length < 4096, String(cookie.length));
    await enter();
  });

  it('gives a pass for one tunnel, form and host, and until it ends', async () => {
    lock({ sign_in: ['*'] });
    await comeBack();
    const value = jar.get(PASS) ?? assert.fail('no pass');
    assert.equal((await respond({ host: 'b.tunnels.test' })).status, 401);
    await enter({ host: `${HOST}:8443` });
    tunnel.id = 'two';
    assert.equal((await respond()).status, 401);
    tunnel.id = 'one';
    jar.set('culvert-pass', value);
    assert.equal((await respond({ prefix: '/t/a', host: HOST })).status, 401);
    fixture.clock.advance(43_200_000);
    assert.equal((await respond()).status, 401);
  });

  it('gives a pass in the path form that is sent to that tunnel only', async () => {
    lock({ sign_in: ['*'] });
    const response = await comeBack({ prefix: '/t/a', host: 'relay.test' });
    assert.deepEqual(fieldsOf(response, 'location'), ['/t/a/']);
    assert.match(fieldsOf(response, 'set-cookie')[0] ?? '', /^culvert-pass=person\.[^;]+; Path=\/t\/a; /);
    await enter({ prefix: '/t/a', host: 'relay.test' });
  });

  it('begins in the path form at the name that a person comes back to', async () => {
    lock({ sign_in: ['*'] });
    const asked = { prefix: '/t/a', target: '/b?c', host: '192.0.2.9:8080', fields: HTML };
    const [location = ''] = fieldsOf(await respond(asked), 'location');
    assert.equal(location, 'https://relay.test/t/a/b?c&culvert_gate=sign_in');
    // A proxy may send another name for the relay's own: then that name begins, too.
    const target = location.slice('https://relay.test/t/a'.length);
    const begun = await respond({ ...asked, target });
    assert.match(fieldsOf(begun, 'location')[0] ?? '', /^https:\/\/relay\.test\/auth\/begin\?/);
  });

  it('keeps a pass while the rules admit the person, whatever else changes', async () => {
    lock({ version: 'one', sign_in: ['*@example.com'] });
    await comeBack();
    lock({ version: 'two', sign_in: ['ann@example.com'], password: 'hash', knock: true });
    await enter();
    lock({ version: 'three', password: 'hash' });
    assert.equal((await respond({ fields: HTML })).status, 401);
    lock({ version: 'four', sign_in: ['bob@example.com'] });
    for (const fields of ['', HTML]) {
      const refused = await respond({ fields });
      assert.deepEqual([refused.status, refused.error], [403, 'sign-in-refused']);
    }
    lock({ version: 'five', sign_in: ['bob@example.com'], password: 'hash' });
    assert.equal((await respond({ fields: HTML })).status, 401);
    lock({ version: 'six', sign_in: ['bob@example.com', 'ann@example.com'] });
    await enter();
  });

  it('refuses who does not pass by name, and gives no pass', async () => {
    lock({ sign_in: ['bob@example.com'] });
    fixture.fake.claims = { sub: '<script>"&', email_verified: false };
    const refused = await comeBack({ target: '/a?b' });
    assert.deepEqual([refused.status, refused.error], [403, 'sign-in-refused']);
    const text = refused.body.toString();
    assert.match(text, /signed in as <strong>&lt;script&gt;&quot;&amp;<\/strong>/);
    assert.match(text, /href="\/a\?b&amp;culvert_gate=sign_in_other"/);
    assert.doesNotMatch(text, /Other ways/);
    assert.match(refused.lines, /Culvert-Error: sign-in-refused\r\n/);
    assert.match(refused.lines, /frame-ancestors 'none'/);
    assert.equal(jar.get(PASS), undefined);
    lock({ sign_in: ['bob@example.com'], password: 'hash' });
    const response = await respond({ target: '/?culvert_gate=sign_in', fields: HTML });
    const other = await respond({ target: await through(response), fields: HTML });
    assert.match(other.body.toString(), /<a href="\/">Other ways to get access<\/a>/);
  });

  it('lets a person be somebody else', async () => {
    lock({ sign_in: ['*'] });
    await comeBack();
    const response = await respond({ target: '/a?culvert_gate=sign_in_other', fields: HTML });
    assert.equal(response.status, 302);
    const begin = new URL(fieldsOf(response, 'location')[0] ?? '');
    const step = await fixture.signIn.depart(begin.searchParams, 'x');
    assert.match(step.kind === 'onward' ? step.location : step.kind, /[?&]prompt=login&?/);
  });

  it('fails with a value that is not for this browser, or was used, and offers to begin again', async () => {
    lock({ sign_in: ['*'] });
    const back = await through(await respond({ target: '/a', fields: HTML }));
    const kept = new Map(jar);
    jar.clear();
    for (const target of [back, `/a?${ARRIVAL_PARAMETER}=x`, `/a?${ARRIVAL_PARAMETER}=`]) {
      const failed = await respond({ target, fields: HTML });
      assert.deepEqual([failed.status, failed.error], [400, 'sign-in-failed']);
      assert.match(failed.body.toString(), /<a class="go" href="\/a">Sign in again<\/a>/);
    }
    jar = kept;
    // Neither a HEAD nor a POST uses it up.
    for (const method of ['HEAD', 'POST']) await respond({ target: back, method });
    assert.equal((await respond({ target: back })).status, 303);
    assert.equal((await respond({ target: back })).status, 400);
  });

  it('keeps one cookie for several tabs', async () => {
    lock({ sign_in: ['*'] });
    const [one, two] = [
      await through(await respond({ fields: HTML })),
      await through(await respond({ fields: HTML })),
    ];
    assert.equal((await respond({ target: one })).status, 303);
    assert.equal((await respond({ target: two })).status, 303);
  });

  it('is not possible while the provider is away', async () => {
    Object.defineProperty(fixture.provider, 'isReady', { value: false });
    lock({ sign_in: ['*'] });
    for (const target of ['/', '/?culvert_gate=sign_in_other']) {
      const away = await respond({ target, fields: HTML });
      assert.deepEqual([away.status, away.error], [503, 'sign-in-unavailable']);
      assert.match(away.lines, /Retry-After: \d+\r\n/);
    }
    assert.equal((await respond()).status, 401);
  });

  it('asks nobody whose address is not allowed', async () => {
    lock({ sign_in: ['*'], allow: ['10.0.0.0/8'] });
    for (const target of [
      '/',
      '/?culvert_gate=sign_in',
      '/?culvert_gate=sign_in_other',
      '/?culvert_sign_out',
      `/?${ARRIVAL_PARAMETER}=x`,
    ])
      assert.equal((await respond({ target, fields: HTML })).error, 'access-address');
    assert.equal((await respond({ fields: HTML, address: '10.1.2.3' })).status, 302);
  });

  it('ends with the address for that', async () => {
    lock({ sign_in: ['*'] });
    await comeBack();
    assert.equal((await respond({ target: '/?culvert_sign_out', method: 'HEAD' })).body.length, 0);
    await comeBack();
    const out = await respond({ target: '/?culvert_sign_out', fields: HTML });
    assert.equal(out.status, 200);
    assert.match(out.body.toString(), /You have signed out/);
    assert.match(out.body.toString(), /href="\/\?culvert_gate=sign_in_other"/);
    assert.match(fieldsOf(out, 'set-cookie')[0] ?? '', /^__Host-culvert-pass=; Path=\/; Max-Age=0; /);
    assert.equal((await respond()).status, 401);
    for (const asked of [{ target: '/a?culvert_sign_out' }, { target: '/?culvert_sign_out', method: 'POST' }])
      assert.equal((await respond(asked)).status, 401);
  });

  it('leaves its addresses to the service where nobody can sign in', async () => {
    for (const access of [undefined, { basic: [{ user: 'ann', hash: 'word' }] }]) {
      if (access === undefined) tunnel.access = undefined;
      else lock(access);
      const fields = `Authorization: Basic ${Buffer.from('ann:word').toString('base64')}\r\n`;
      for (const target of ['/?culvert_sign_out', `/?${ARRIVAL_PARAMETER}=x`]) {
        const entry = await ask({ target, fields });
        assert.ok(entry === undefined || isAllowedVisitor(entry), target);
      }
    }
    lock({ sign_in: ['*'] });
    const back = await through(await respond({ target: '/a', fields: HTML }));
    tunnel.access = undefined;
    assert.deepEqual(fieldsOf(await respond({ target: back }), 'location'), ['/a']);
  });

  it('ends what the rules no longer admit, and everything with the pass', async () => {
    lock({ version: 'one', sign_in: ['*@example.com'] });
    await comeBack();
    const entrant = await enter();
    const standing = () => visitorAccess.standing(tunnel as unknown as LiveTunnel, '192.0.2.1', entrant);
    lock({ version: 'two', sign_in: ['ann@example.com'], allow: ['192.0.2.0/24'] });
    assert.equal(standing(), 'allowed');
    lock({ version: 'three', sign_in: ['bob@example.com'] });
    assert.equal(standing(), 'barred');
    lock({ version: 'four', password: 'hash' });
    assert.equal(standing(), 'barred');
    lock({ version: 'five', sign_in: ['*'] });
    assert.equal(standing(), 'allowed');
    fixture.clock.advance(43_200_000);
    assert.equal(standing(), 'revoked');
    tunnel.access = undefined;
    assert.equal(standing(), 'allowed');
  });
});

function passesOf(kind: 'visit' | 'lasting' | 'person'): Passes {
  return new Passes(kind, () => ({ current: kind, others: [] }));
}

function fieldsOf({ lines }: OwnResponse, name: string): string[] {
  return lines
    .split('\r\n')
    .filter((line) => line.toLowerCase().startsWith(`${name}: `))
    .map((line) => line.slice(name.length + 2));
}

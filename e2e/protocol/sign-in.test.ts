/** Sign-in with a real identity provider (protocol.md section 11.5, docs/decisions/0033-sign-in.md). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CookieBrowser, type Visited } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { BROWSER, type Form, LockedTunnels } from '../support/locked-tunnels.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { type Field, visit, WEBSOCKET } from '../support/raw-http.ts';
import { relaySuite, sharedRelaySuite } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { TestIdentityProvider } from '../support/services/identity-provider.ts';

const ANN = 'ann@example.com';

describe('sign-in (protocol.md section 11.5)', () => {
  const scope = suiteScope();
  let idp: TestIdentityProvider;
  const settings: Record<string, string> = {};
  let accessLog: string;

  before(async () => {
    idp = await TestIdentityProvider.start(scope);
    accessLog = join(temporaryDirectory(scope), 'access.log');
    Object.assign(settings, idp.settings, { CULVERT_ACCESS_LOG: accessLog, CULVERT_LOG_LEVEL: 'debug' });
  });

  const suite = relaySuite(settings);
  const { relay } = suite;
  const locked = new LockedTunnels(suite);

  before(async () => {
    idp.register(relay.url);
    idp.people.set('staff', { email: 'Bob@Example.com', email_verified: true, groups: ['staff', 'other'] });
    idp.people.set('nobody', { email: ANN, email_verified: false });
    await eventually(20_000, () => assert.match(logged(), /identity provider found/));
  });

  /** What the relay has logged since its last start. */
  function logged(): string {
    return relay.child.stderr;
  }

  function wildcardForm(name: string): Form {
    return { host: `${name}--many.localhost:${relay.port}`, prefix: '' };
  }

  it('admits who signs in, in all forms of the address, and keeps what is its own from the service', async () => {
    const tunnel = await locked.start({ sign_in: ['*@EXAMPLE.com'] });
    assert.deepEqual(tunnel.access, { sign_in: ['*@EXAMPLE.com'] });
    for (const form of locked.forms(tunnel)) {
      const { browser, page } = await enter(form, 'Ann@Example.com', '/a?b=c');
      assert.equal(page.url.href, addressOf(form, '/a?b=c'), browser.visited.join('\n'));
      assert.equal(locked.last()?.headers.cookie, undefined);
      locked.assertSeen(`user:${ANN}`, '/a?b=c');
      assert.ok(browser.visited.every((address) => address.length < 8000));
      // Browsers add the cookie to what the page loads.
      await locked.ask(form, [cookiesAt(form, browser)], { target: '/data' });
      locked.assertSeen(`user:${ANN}`, '/data');
      locked.assertRefused(await locked.ask(form));
    }
  });

  it('works at each host of a wildcard tunnel by itself', async () => {
    const tunnel = await locked.start({ sign_in: ['*'] }, { wildcard: true, name: 'many' });
    const at = wildcardForm;
    const { browser, page } = await enter(at('blue'), ANN);
    assert.equal(page.url.href, addressOf(at('blue')));
    locked.assertSeen(`user:${ANN}`, '/');
    locked.assertRefused(await locked.ask(at('red'), [cookiesAt(at('blue'), browser)]));
    locked.assertRefused(await locked.ask(tunnel, [cookiesAt(at('blue'), browser)]));
  });

  it('admits by groups and by `*`, also people without an address that counts', async () => {
    const tunnel = await locked.start({ sign_in: ['group:staff'] });
    const [form] = locked.forms(tunnel);
    await enter(form, 'staff');
    locked.assertSeen('user:bob@example.com', '/');
    const { page } = await enter(form, 'nobody');
    assert.deepEqual([page.status, page.head.field('culvert-error')], [403, 'sign-in-refused']);
    await locked.setAccess(tunnel, { sign_in: ['*'] });
    await enter(form, 'nobody');
    locked.assertSeen('user:nobody', '/');
  });

  it('refuses others by name, and lets them be somebody else', async () => {
    const tunnel = await locked.start({ sign_in: [ANN] });
    const [form] = locked.forms(tunnel);
    const { browser, page } = await enter(form, '<b>&"@example.com', '/a');
    assert.equal(page.status, 403);
    assert.match(page.text, /&lt;b&gt;&amp;&quot;@example\.com/);
    assert.deepEqual(locked.seen, []);
    const [, other = ''] = /href="([^"]+)">Sign in as somebody else/.exec(page.text) ?? [];
    // Without its session, the provider needs no script to leave it.
    browser.cookies = browser.cookies.filter(({ host }) => host !== '127.0.0.1');
    const login = await browser.open(new URL(other.replaceAll('&amp;', '&'), page.url));
    const entered = await browser.signInAs(ANN, login);
    assert.deepEqual([entered.status, entered.url.href], [200, addressOf(form, '/a')]);
  });

  it('counts a change of the rules within a second, and cuts who is no longer admitted', async () => {
    const tunnel = await locked.start({ sign_in: [ANN, 'group:staff'] });
    const [form] = locked.forms(tunnel);
    const ann = cookiesAt(form, (await enter(form, ANN)).browser);
    const bob = cookiesAt(form, (await enter(form, 'staff')).browser);
    const sockets = [
      await locked.enter(form, [...WEBSOCKET, ann]),
      await locked.enter(form, [...WEBSOCKET, bob]),
    ];
    const events = await locked.enter(form, [bob], '/events');
    assert.deepEqual(
      [...sockets, events].map(({ status }) => status),
      [101, 101, 200],
    );
    await locked.setAccess(tunnel, { sign_in: [ANN], password: 'mild oak' });
    await Promise.all([sockets[1]?.ending, events.ending]);
    assert.equal((await locked.ask(form, [ann])).status, 200);
    assert.equal((await locked.ask(form, [bob])).status, 401);
    await locked.setAccess(tunnel, { password: 'mild oak' });
    await sockets[0]?.ending;
    assert.equal((await locked.ask(form, [ann])).status, 401);
  });

  it('outlives a restart of the relay', async () => {
    const tunnel = await locked.start({ sign_in: [ANN] });
    const [form] = locked.forms(tunnel);
    const { browser } = await enter(form, ANN);
    const waiting = new CookieBrowser();
    const login = await waiting.open(addressOf(form, '/late'));
    await relay.stop();
    await relay.restart();
    await eventually(20_000, async () => {
      assert.equal((await locked.ask(form, [cookiesAt(form, browser)])).status, 200);
    });
    await eventually(20_000, async () => {
      const begun = await locked.ask(form, [BROWSER]);
      assert.equal(begun.status, 302);
    });
    assert.equal((await waiting.signInAs(ANN, login)).url.pathname, '/late');
  });

  it('ends in this browser at the address for that', async () => {
    const tunnel = await locked.start({ sign_in: [ANN] });
    for (const form of locked.forms(tunnel)) {
      const { browser } = await enter(form, ANN);
      const out = await browser.step(addressOf(form, '/?culvert_sign_out'));
      assert.equal(out.status, 200);
      assert.match(out.text, /You have signed out/);
      assert.equal((await browser.step(addressOf(form))).status, 302);
    }
    await locked.setAccess(tunnel, {});
    locked.seen = [];
    await locked.ask(tunnel, [], { target: '/?culvert_sign_out' });
    locked.assertSeen(undefined, '/?culvert_sign_out');
  });

  it('fails with addresses of others, and with those that were used', async () => {
    const tunnel = await locked.start({ sign_in: ['*'] });
    const [form] = locked.forms(tunnel);
    const callback = `${relay.url}/auth/callback`;
    const mallory = new CookieBrowser();
    const stop = ({ href }: URL): boolean => href.startsWith(callback);
    const login = await mallory.open(addressOf(form));
    const sent = await mallory.signInAs('mallory@evil.example', login, stop);
    const theirs = sent.head.field('location') ?? assert.fail('no callback');
    const ann = new CookieBrowser();
    await ann.open(addressOf(form, '/hers'));
    for (const address of [
      theirs,
      `${callback}?code=x&state=y`,
      callback,
      `${relay.url}/auth/begin?ticket=x`,
    ]) {
      const failed = await ann.step(address);
      assert.deepEqual([failed.status, failed.head.field('culvert-error')], [400, 'sign-in-failed']);
      assert.equal(failed.head.field('location'), undefined);
      assert.match(failed.head.field('content-security-policy') ?? '', /frame-ancestors 'none'/);
    }
    // The address that leads to the tunnel, taken from the browser that began.
    const back = await mallory.step(theirs);
    const arrival = back.head.field('location') ?? assert.fail('no arrival');
    assert.equal((await ann.step(arrival)).status, 400);
    assert.equal((await mallory.step(theirs)).status, 400);
    assert.equal((await mallory.step(arrival)).status, 303);
    assert.equal((await mallory.step(arrival)).status, 400);
    const program = await visit(relay.port, {
      host: new URL(relay.url).host,
      target: '/auth/callback?state=x',
    });
    assert.equal((JSON.parse(program.text) as { code: string }).code, 'sign-in-failed');
  });

  it('is no part of a host that is not the relay’s', async () => {
    for (const target of ['/auth/begin', '/auth/callback?state=x'])
      assert.equal((await visit(relay.port, { host: 'evil.example', target })).status, 421);
  });

  it('leaves no trace of a person, a code or a token in the logs', async () => {
    const tunnel = await locked.start({ sign_in: [ANN] });
    const [form] = locked.forms(tunnel);
    const { browser } = await enter(form, ANN, '/traced');
    await eventually(20_000, () => assert.match(readFileSync(accessLog, 'utf8'), /\/traced/));
    const written = logged() + readFileSync(accessLog, 'utf8');
    for (const secret of [
      ANN,
      'culvert_sign_in',
      'ticket',
      'state=',
      'code=',
      ...browser.cookies.map(({ value }) => value),
    ])
      assert.ok(!written.includes(secret), secret);
  });

  it('is named in the account, and in the tunnel as it was given', async () => {
    const { json } = await locked.account.api.send('GET', '/v1/account');
    assert.deepEqual((json as { sign_in?: unknown }).sign_in, { name: 'Example' });
    const rules = ['*', 'group:A b', 'Ann@Example.com', '*@example.com'];
    const tunnel = await locked.start({ sign_in: [...rules, '*'] });
    assert.deepEqual(tunnel.access, { sign_in: rules });
    for (const wrong of [
      ['ann'],
      ['group:'],
      ['@x'],
      'x',
      Array.from({ length: 33 }, (_, each) => `a${each}@b.c`),
    ]) {
      const asked = { json: { sign_in: wrong } };
      const { status } = await locked.account.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, asked);
      assert.equal(status, 400, JSON.stringify(wrong));
    }
  });
});

describe('sign-in at a relay without an identity provider', () => {
  const suite = sharedRelaySuite();
  const locked = new LockedTunnels(suite);

  it('is refused', async () => {
    const tunnel = await locked.start({ password: 'mild oak' });
    const json = { sign_in: ['*'] };
    const put = await locked.account.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json });
    const create = await locked.account.api.send('POST', '/v1/tunnels', {
      json: { local_port: 1, access: json },
    });
    for (const { status, json: body } of [put, create]) {
      assert.equal(status, 400);
      assert.match((body as { error: string }).error, /sign_in needs an identity provider/);
    }
    const { json: account } = await locked.account.api.send('GET', '/v1/account');
    assert.ok(!('sign_in' in (account as object)));
  });
});

function addressOf({ host, prefix }: Form, target = '/'): string {
  return `http://${host}${prefix}${target}`;
}

/** The cookies of a browser at a form of the address. */
function cookiesAt({ host, prefix }: Form, { cookies }: CookieBrowser): Field {
  const [hostname] = host.split(':');
  const own = cookies.filter((each) => each.host === hostname && each.path === (prefix || '/'));
  return ['Cookie', own.map(({ name, value }) => `${name}=${value}`).join('; ')];
}

/** Signs in at a tunnel with a new browser. */
async function enter(
  form: Form,
  account: string,
  target = '/',
): Promise<{ browser: CookieBrowser; page: Visited }> {
  const browser = new CookieBrowser();
  const login = await browser.open(addressOf(form, target));
  return { browser, page: await browser.signInAs(account, login) };
}

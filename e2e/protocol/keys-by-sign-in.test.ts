/** Keys for people who sign in at the identity provider (protocol.md section 13.1). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { administer, withNewKey } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { CookieBrowser, type Visited } from '../support/cookie-browser.ts';
import { CULVERT_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { TestIdentityProvider, findProvider } from '../support/services/identity-provider.ts';
import { Terminal } from '../support/terminal.ts';

async function signIn(url: string, person: string, browser = new CookieBrowser()): Promise<Visited> {
  return await browser.signInAs(person, await browser.open(url));
}

/** Presses the button of the page. */
async function approve(page: Visited, browser: CookieBrowser): Promise<Visited> {
  const [, action] = /<form method="post" action="([^"]+)">/.exec(page.text) ?? assert.fail(page.text);
  return await browser.step(new URL(action ?? '', page.url), { method: 'POST' });
}

describe('keys by sign-in (protocol.md section 13.1)', () => {
  const idpScope = suiteScope();
  let idp: TestIdentityProvider;
  const settings: Record<string, string> = { CULVERT_OIDC_ACCOUNTS: '*@example.com=acme, group:ops=ops' };
  before(async () => {
    idp = await TestIdentityProvider.start(idpScope);
    Object.assign(settings, idp.settings);
  });
  const { scope, relay } = relaySuite(settings);
  before(async () => {
    idp.register(relay.url);
    await findProvider(relay);
    for (const name of ['acme', 'ops'])
      await administer(relay, 'account', 'create', '--name', name, '--plan', 'dev');
  });

  const api = () => new Api(relay, undefined);

  /** A program asks. @returns the address of the page, and how to ask for the key */
  async function ask(machine = 'laptop') {
    const token = randomBytes(24).toString('base64url');
    const digest = createHash('sha256').update(token).digest('hex');
    const { status, json } = await api().send('POST', '/v1/logins', { json: { digest, machine } });
    assert.equal(status, 201);
    const { url } = json as { readonly url: string };
    const take = async (): Promise<{ status: number; account?: unknown; key?: unknown }> => {
      const answer = await api().send('POST', `/v1/invites/${token}`, { json: { machine } });
      return { ...(answer.json as object), status: answer.status };
    };
    return { url, take };
  }

  it('gives culvert login a key once a person has approved the code that it shows', async () => {
    const folder = temporaryDirectory(scope);
    const environment = { CULVERT_API_KEY: '', CULVERT_RELAY: '', XDG_CONFIG_HOME: folder };
    const command = `${process.execPath} ${CULVERT_SCRIPT} login ${relay.url}; echo "code $?"`;
    const terminal = new Terminal(scope, command, environment, 2000);
    await terminal.shows(/Press Enter to sign in with Example, or paste an API key for .*: /);
    terminal.type('\r');
    const shown = await terminal.shows(/shows the code \S+:\n\S+\n/);
    const [, code = '', url = ''] = /shows the code (\S+):\n(\S+)\n/.exec(shown) ?? [];
    const browser = new CookieBrowser();
    const page = await signIn(url, 'ann@example.com', browser);
    assert.equal(page.status, 200, page.text);
    for (const word of [code, 'acme', 'ann@example.com']) assert.ok(page.text.includes(word), word);
    assert.equal(page.head.field('x-frame-options'), 'DENY');
    assert.equal((await approve(page, browser)).status, 200);
    await terminal.shows(/Signed in to http:\S+ as acme \(dev plan\)\.[^]*code 0/);
  });

  it('gives no key before that, and one of the account that the first rule names', async () => {
    idp.people.set('oli', { email: 'oli@ops.example', email_verified: true, groups: ['ops'] });
    const { url, take } = await ask();
    const browser = new CookieBrowser();
    const page = await signIn(url, 'oli', browser);
    assert.equal((await take()).status, 404);
    await approve(page, browser);
    const { status, account, key } = await take();
    assert.deepEqual([status, account], [201, 'ops']);
    assert.equal((await take()).status, 404, 'it works once');
    assert.equal((await new Api(relay, String(key)).account()).name, 'ops');
  });

  it('refuses a person without a rule, and an address that is not verified', async () => {
    idp.people.set('eve', { email: 'eve@example.com', email_verified: false });
    const { url, take } = await ask();
    for (const person of ['ann@elsewhere.example', 'eve']) {
      const page = await signIn(url, person);
      assert.equal(page.status, 403);
      assert.doesNotMatch(page.text, /<form/);
    }
    assert.equal((await take()).status, 404);
  });

  it('counts an approval once, in the browser of the person who signed in', async () => {
    const { url, take } = await ask();
    const browser = new CookieBrowser();
    const page = await signIn(url, 'ann@example.com', browser);
    assert.equal((await approve(page, new CookieBrowser())).status, 400);
    assert.equal((await take()).status, 404);
    assert.equal((await approve(page, browser)).status, 200);
    assert.equal((await approve(page, browser)).status, 400);
    assert.equal((await take()).status, 201);
    // The address that came back from the provider counts once, too, and nowhere else.
    assert.equal((await browser.step(page.url)).status, 400);
  });

  it('takes no ticket for another purpose, and says what is wrong with a request', async () => {
    const { url } = await ask();
    const browser = new CookieBrowser();
    const page = await signIn(url, 'ann@example.com', browser);
    const [, offer = ''] = /action="([^"]+)"/.exec(page.text) ?? [];
    const forged = new URL(url).pathname.replace(/(?<=login\/)./, (first) => (first === 'A' ? 'B' : 'A'));
    assert.equal((await browser.step(new URL(offer, url))).status, 400, 'an offer is no ticket');
    assert.equal((await browser.step(url, { method: 'POST' })).status, 400, 'a ticket is no offer');
    assert.equal((await browser.step(new URL(forged, url))).status, 400);
    for (const json of [{}, { digest: 'x' }, { digest: 'A'.repeat(64) }])
      assert.equal((await api().send('POST', '/v1/logins', { json })).status, 400);
  });

  it('labels the key with the person, and tells the owner of the account', async () => {
    const { api: owner } = await withNewKey(relay, { id: '', name: 'acme' }, '--owner');
    const { url, take } = await ask('\u{e4}<b>');
    const browser = new CookieBrowser();
    const page = await signIn(url, 'bob@example.com', browser);
    assert.ok(page.text.includes('ä&lt;b&gt;'), page.text);
    await approve(page, browser);
    await take();
    const { json: team } = await owner.send('GET', '/v1/team');
    const { keys } = team as { readonly keys: readonly { readonly label: string }[] };
    assert.ok(
      keys.some(({ label }) => label === 'bob@example.com on \u{e4}<b>'),
      JSON.stringify(keys),
    );
    const { json: audit } = await owner.send('GET', '/v1/team/audit');
    assert.match(JSON.stringify(audit), /"sign-in:bob@example\.com","action":"team\.login"/);
  });
});

/** Sign-in at a real identity provider (protocol.md section 11.5). */
import assert from 'node:assert/strict';
import { CookieBrowser } from '../support/cookie-browser.ts';
import { BROWSER, LockedTunnels } from '../support/locked-tunnels.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { TestIdentityProvider } from '../support/services/identity-provider.ts';

describe('sign-in (protocol.md section 11.5)', () => {
  const idpScope = suiteScope();
  let idp: TestIdentityProvider;
  const settings: Record<string, string> = {};
  before(async () => {
    idp = await TestIdentityProvider.start(idpScope);
    Object.assign(settings, idp.settings);
  });
  const suite = relaySuite(settings);
  const locked = new LockedTunnels(suite);
  before(() => idp.register(`http://localhost:${suite.relay.port}`));

  it('lets in who signs in, in all forms of the address', async () => {
    const tunnel = await locked.start({ sign_in: ['*@example.com'] });
    for (const form of locked.forms(tunnel)) {
      const browser = new CookieBrowser();
      const login = await browser.open(`http://${form.host}${form.prefix}/a?b=c`);
      const page = await browser.signInAs('Ann@Example.com', login);
      assert.equal(page.status, 200, browser.visited.join('\n'));
      assert.equal(page.url.href, `http://${form.host}${form.prefix}/a?b=c`);
      locked.assertSeen('user:ann@example.com', '/a?b=c');
    }
    locked.assertRefused(await locked.ask(tunnel));
    const asked = await locked.ask(tunnel, [BROWSER]);
    assert.equal(asked.status, 302);
  });
});

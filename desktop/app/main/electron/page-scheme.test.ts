import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Protocol } from 'electron';
import { CONTENT_SECURITY_POLICY } from '../../ipc/views.ts';
import { PAGE_URL, registerPageScheme, servePage } from './page-scheme.ts';
import { temporaryDirectory } from '../../../testing/temporary-directory.ts';

type SchemeHandler = (request: Request) => Response | Promise<Response>;

function setUp(): (url: string, method?: string) => Promise<Response> {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'index.html'), '<p>page');
  writeFileSync(join(directory, 'secret'), 'none of the page');
  let answer: SchemeHandler | undefined;
  const protocol = {
    handle: (_scheme: string, handler: SchemeHandler) => void (answer = handler),
  } satisfies Pick<Protocol, 'handle'>;
  servePage(protocol, directory);
  // Node's Request takes no address with a scheme that it does not know.
  return async (url, method = 'GET') => {
    if (answer === undefined) throw new Error('nobody answers');
    return answer({ url, method } as Request);
  };
}

describe('the scheme of the page', () => {
  it('is one with an origin and no further privileges', () => {
    let schemes: unknown;
    registerPageScheme({
      registerSchemesAsPrivileged: (list) => void (schemes = list),
    } satisfies Pick<Protocol, 'registerSchemesAsPrivileged'>);
    assert.deepEqual(schemes, [
      { scheme: 'culvert-app', privileges: { standard: true, secure: true, codeCache: true } },
    ]);
  });

  it('serves the page with the policy as a header', async () => {
    const response = await setUp()(PAGE_URL);
    assert.equal(await response.text(), '<p>page');
    assert.equal(response.headers.get('content-security-policy'), CONTENT_SECURITY_POLICY);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  });

  it('has a policy without network, inline code and other origins', () => {
    assert.match(CONTENT_SECURITY_POLICY, /default-src 'none'/);
    assert.match(CONTENT_SECURITY_POLICY, /connect-src 'none'/);
    assert.ok(!/unsafe|https?:|\*/.test(CONTENT_SECURITY_POLICY));
  });

  const others = [
    'culvert-app://other/index.html',
    'culvert-app://app/secret',
    'culvert-app://app/none.html',
    'culvert-app://app/../index.html/x.html',
    'culvert-app://app/%2e%2e/package.json.html',
    'culvert-app://app/',
  ];
  for (const url of others) {
    it(`answers ${url} with 404`, async () => {
      assert.equal((await setUp()(url)).status, 404);
    });
  }

  it('accepts only GET', async () => {
    assert.equal((await setUp()(PAGE_URL, 'POST')).status, 404);
  });
});

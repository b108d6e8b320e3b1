import assert from 'node:assert/strict';
import { errorContent } from './page.ts';

const BROWSER = 'text/html,*/*;q=0.8';

describe('errorContent', () => {
  it('shows people, but not programs, where to complain', () => {
    const contact = 'mailto:abuse@example.com';
    assert.match(
      errorContent('tunnel-unknown', { accept: BROWSER }, undefined, contact).body,
      /<a href="mailto:abuse@example\.com">Report abuse<\/a>/,
    );
    assert.doesNotMatch(errorContent('tunnel-unknown', { accept: BROWSER }).body, /<a /);
    assert.deepEqual(
      JSON.parse(errorContent('tunnel-unknown', {}, undefined, contact).body),
      JSON.parse(errorContent('tunnel-unknown', {}).body),
    );
  });

  it('shows a text as text, and a contact as an address', () => {
    const { body } = errorContent(
      'local-refused',
      { accept: BROWSER },
      '<b>&"',
      'https://example.com/?a&b="><b>',
    );
    assert.ok(body.includes('<p>&lt;b&gt;&amp;&quot;</p>'), body);
    assert.ok(body.includes('href="https://example.com/?a&amp;b=&quot;&gt;&lt;b&gt;"'), body);
  });

  it('tries again by itself if something is offline, but only for a page that a browser can repeat', () => {
    for (const code of ['tunnel-offline', 'domain-offline', 'local-refused'] as const) {
      const { fields, body } = errorContent(code, { accept: BROWSER, isGet: true });
      assert.match(fields, /^Refresh: 10\r\n/m, code);
      assert.match(
        body,
        /This page tries again every 10 seconds\..*<a class="go" href="">Try again now<\/a>/s,
      );
    }
    const others = [
      errorContent('tunnel-offline', { accept: BROWSER }),
      errorContent('tunnel-offline', { isGet: true }),
      errorContent('relay-busy', { accept: BROWSER, isGet: true }),
    ];
    for (const { fields, body } of others) assert.doesNotMatch(fields + body, /Refresh|tries again/);
  });

  it('tells a visitor whose work it is if nothing runs behind the tunnel', () => {
    const { body } = errorContent('local-refused', { accept: BROWSER });
    assert.match(body, /The owner of this page can start it\./);
    assert.doesNotMatch(body, /Start the service/);
  });
});

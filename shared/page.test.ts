import assert from 'node:assert/strict';
import { errorContent } from './page.ts';

const BROWSER = 'text/html,*/*;q=0.8';

describe('errorContent', () => {
  it('shows people, but not programs, where to complain', () => {
    const contact = 'mailto:abuse@example.com';
    assert.match(
      errorContent('tunnel-unknown', BROWSER, undefined, contact).body,
      /<a href="mailto:abuse@example\.com">Report abuse<\/a>/,
    );
    assert.doesNotMatch(errorContent('tunnel-unknown', BROWSER).body, /<a /);
    assert.deepEqual(
      JSON.parse(errorContent('tunnel-unknown', undefined, undefined, contact).body),
      JSON.parse(errorContent('tunnel-unknown', undefined).body),
    );
  });

  it('shows a text as text, and a contact as an address', () => {
    const { body } = errorContent('local-refused', BROWSER, '<b>&"', 'https://example.com/?a&b="><b>');
    assert.ok(body.includes('<p>&lt;b&gt;&amp;&quot;</p>'), body);
    assert.ok(body.includes('href="https://example.com/?a&amp;b=&quot;&gt;&lt;b&gt;"'), body);
  });
});

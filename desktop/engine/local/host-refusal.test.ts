import assert from 'node:assert/strict';
import { findHostRefusal } from './host-refusal.ts';

const head = (status: string): string => `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\n\r\n`;
const find = (text: string, isBody = false) => findHostRefusal(Buffer.from(text), isBody);

describe('findHostRefusal', () => {
  const refusals: [string, string, string][] = [
    ['Vite', '403 Forbidden', 'Blocked request. This host ("x.example.com") is not allowed.'],
    ['webpack', '403 Forbidden', 'Invalid Host header'],
    ['webpack', '403 Forbidden', 'Invalid Host/Origin header'],
    ['Django', '400 Bad Request', `${' '.repeat(900)}<title>DisallowedHost at /</title>`],
    ['Rails', '403 Forbidden', '<h1>Blocked hosts: x.example.com</h1>'],
    ['ASP.NET', '400 Bad Request', '<h2>Bad Request - Invalid Hostname</h2>'],
  ];
  for (const [name, status, body] of refusals) {
    it(`knows what ${name} says: ${body.trim()}`, () => {
      const refusal = find(head(status) + body);
      assert.ok(refusal.kind === 'refused');
      assert.match(refusal.setting, new RegExp(name));
      assert.equal(find(head(status)).kind, 'perhaps');
      assert.deepEqual(find(body, true), refusal);
    });
  }

  const others: [string, string][] = [
    ['another refusal', `${head('403 Forbidden')}You may not`],
    ['another status', `${head('404 Not Found')}Invalid Host header`],
    ['a response about it', `${head('200 OK')}Invalid Host header`],
    ['a piece of a body', '12345678 4 Blocked request. This host'],
    ['what comes far behind', `${head('403 Forbidden')}${' '.repeat(5000)}Invalid Host header`],
  ];
  for (const [name, text] of others)
    it(`does not mistake ${name} for it`, () => assert.equal(find(text).kind, 'none'));

  it('looks at only one more piece', () => assert.equal(find('something else\r\n\r\n', true).kind, 'none'));
});

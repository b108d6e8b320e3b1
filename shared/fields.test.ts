import assert from 'node:assert/strict';
import { isWebAddress } from './fields.ts';

describe('isWebAddress', () => {
  const addresses = [
    'https://my-app.example.com',
    'http://my-app.localhost:8080',
    'https://relay.example.com/t/my-app',
    'http://[::1]:8080/t/my-app',
    'https://xn--bcher-kva.example/',
  ];
  for (const text of addresses) it(`accepts ${text}`, () => assert.equal(isWebAddress(text), true));

  const others: [string, string][] = [
    ['a script', 'javascript:alert(1)//https://a.example'],
    ['a file', 'file:///etc/passwd'],
    ['another program', 'ms-msdt://x'],
    ['no address', 'my-app.example.com'],
    ['no host', 'https://'],
    ['a port that is none', 'https://a.example:99999'],
    ['control characters', 'http://a.example/\u{1B}[2J'],
    ['C1 control characters', 'http://a.example/\u{9B}2J'],
    ['a line feed, which a shell takes for the end of a command', 'http://a.example/\nreboot'],
    ['a space', 'http://a.example/ x'],
    ['what a shell runs', 'http://a.example/$(reboot)'],
    ['quotes', "http://a.example/';reboot;'"],
    ['text that runs backwards', 'https://a.example/\u{202E}x'],
    ['letters that look like others', 'https://\u{430}pple.example'],
    ['a name and a password', 'https://bank.example@evil.example'],
    ['a backslash', 'https:\\\\a.example'],
  ];
  for (const [what, text] of others)
    it(`does not accept an address with ${what}`, () => assert.equal(isWebAddress(text), false));

  it('does not accept an address of more than 2,048 characters', () => {
    assert.equal(isWebAddress('https://a.example/'.padEnd(2048, 'x')), true);
    assert.equal(isWebAddress('https://a.example/'.padEnd(2049, 'x')), false);
  });
});

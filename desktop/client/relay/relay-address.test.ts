import assert from 'node:assert/strict';
import { controlUrl, parseRelayAddress, RelayAddressError } from './relay-address.ts';

describe('parseRelayAddress', () => {
  const accepted: [string, string, string, number, string][] = [
    ['http://localhost:8080', 'http://localhost:8080', 'localhost', 8080, 'localhost:8080'],
    ['http://localhost:8080/', 'http://localhost:8080', 'localhost', 8080, 'localhost:8080'],
    ['http://localhost:8080/v1', 'http://localhost:8080', 'localhost', 8080, 'localhost:8080'],
    ['http://localhost:8080/v1/', 'http://localhost:8080', 'localhost', 8080, 'localhost:8080'],
    ['https://Relay.Example.com', 'https://relay.example.com', 'relay.example.com', 443, 'relay.example.com'],
    ['http://relay.example.com', 'http://relay.example.com', 'relay.example.com', 80, 'relay.example.com'],
    ['http://[::1]:81', 'http://[::1]:81', '::1', 81, '[::1]:81'],
  ];
  for (const [text, origin, hostname, port, host] of accepted) {
    it(`reads ${text}`, () => {
      const secure = text.startsWith('https');
      assert.deepEqual(parseRelayAddress(text), { origin, hostname, port, host, secure });
    });
  }

  for (const text of [
    '',
    'localhost:8080',
    'ws://localhost',
    'http://',
    'http://host/v2',
    'http://host/v1/tunnels',
    'http://user:secret@host',
    'http://host/?a=1',
    'http://host/#a',
  ]) {
    it(`rejects ${JSON.stringify(text)} with a hint`, () => {
      assert.throws(
        () => parseRelayAddress(text),
        (error) => error instanceof RelayAddressError && error.message.includes('http:// or https://'),
      );
    });
  }
});

describe('controlUrl', () => {
  it('has no version segment', () => {
    assert.equal(
      controlUrl(parseRelayAddress('https://relay.example.com/v1'), 'a b'),
      'wss://relay.example.com/ws/control?tunnel_id=a%20b&events=1',
    );
  });
});

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
    it(`rejects an address with ${what}`, () => assert.equal(isWebAddress(text), false));

  it('rejects an address of more than 2,048 characters', () => {
    assert.equal(isWebAddress('https://a.example/'.padEnd(2048, 'x')), true);
    assert.equal(isWebAddress('https://a.example/'.padEnd(2049, 'x')), false);
  });
});

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
    it(`refuses ${JSON.stringify(text)} and names the accepted values`, () => {
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

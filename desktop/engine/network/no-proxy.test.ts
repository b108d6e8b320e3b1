import assert from 'node:assert/strict';
import { parseNoProxy } from './no-proxy.ts';

describe('parseNoProxy', () => {
  const direct: [string, string, number][] = [
    ['', 'localhost', 80],
    ['', 'relay.localhost', 80],
    ['', '127.0.0.1', 80],
    ['', '127.8.9.10', 80],
    ['', '::1', 80],
    ['*', 'relay.example.com', 443],
    ['example.com', 'example.com', 443],
    ['example.com', 'relay.example.com', 443],
    ['.example.com', 'relay.example.com', 443],
    ['*.example.com', 'relay.example.com', 443],
    ['Example.COM', 'Relay.example.com', 443],
    ['other.com, example.com', 'example.com', 443],
    ['other.com example.com', 'example.com', 443],
    ['example.com:443', 'example.com', 443],
    ['10.0.0.1', '10.0.0.1', 443],
    ['10.0.0.0/8', '10.1.2.3', 443],
    ['2001:db8::1', '2001:db8::1', 443],
    ['[2001:db8::1]:443', '2001:db8::1', 443],
    ['2001:db8::/32', '2001:db8::5', 443],
  ];
  for (const [text, host, port] of direct) {
    it(`reaches ${host}:${port} directly with "${text}"`, () => assert.ok(parseNoProxy(text)(host, port)));
  }

  const proxied: [string, string, number][] = [
    ['', 'relay.example.com', 443],
    ['', 'localhost.example.com', 443],
    ['', '128.0.0.1', 443],
    ['example.com', 'badexample.com', 443],
    ['example.com:8443', 'example.com', 443],
    ['10.0.0.0/8', '11.1.2.3', 443],
    ['10.0.0.0/99', '10.1.2.3', 443],
    ['not an address/8', '10.1.2.3', 443],
  ];
  for (const [text, host, port] of proxied) {
    it(`does not reach ${host}:${port} directly with "${text}"`, () =>
      assert.equal(parseNoProxy(text)(host, port), false));
  }
});

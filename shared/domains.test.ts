import assert from 'node:assert/strict';
import { readDomain } from './domains.ts';

describe('readDomain', () => {
  const long = `${'a'.repeat(60)}.`.repeat(3) + 'a'.repeat(61);
  const names: [given: string, name: string][] = [
    ['app.example.com', 'app.example.com'],
    ['App.EXAMPLE.com.', 'app.example.com'],
    ['xn--mller-kva.example', 'xn--mller-kva.example'],
    ['Müller.example', 'xn--mller-kva.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['a.b', 'a.b'],
    ['1.example', '1.example'],
    [long, long],
    ['*.example.com', '*.example.com'],
    ['*.Müller.Example.', '*.xn--mller-kva.example'],
  ];
  for (const [given, name] of names) {
    it(`reads ${given} as ${name}`, () => assert.deepEqual(readDomain(given), { name }));
  }

  const refused: [given: string, problem: RegExp][] = [
    ['https://app.example.com', /without https/],
    ['app.example.com/x', /without https/],
    ['ann@example.com', /without https/],
    ['app.example.com:443', /without a port/],
    ['192.0.2.1', /not an IP address/],
    ['0x7f.1', /not an IP address/],
    ['１２７.0.0.1', /not an IP address/],
    ['2001:db8::1', /not an IP address/],
    ['[::1]', /not an IP address/],
    ['*.*.example.com', /only as its first label/],
    ['a.*.example.com', /only as its first label/],
    ['*example.com', /only as its first label/],
    ['*.com', /two labels/],
    ['*.', /only as its first label/],
    ['*', /only as its first label/],
    ['*.192.0.2.1', /not an IP address/],
    ['localhost', /two labels/],
    ['com.', /two labels/],
    ['', /host name/],
    ['.', /host name/],
    ['a..b', /host name/],
    ['app.example.com..', /host name/],
    ['.example.com', /host name/],
    ['-a.example.com', /host name/],
    ['a_b.example.com', /host name/],
    [' app.example.com', /host name/],
    ['app.exam ple.com', /host name/],
    ['app\t.example.com', /host name/],
    ['%61pp.example.com', /host name/],
    ['example.1', /host name|IP address/],
    [`${'a'.repeat(64)}.example`, /host name/],
    [`a.${long}`, /at most 244 characters/],
  ];
  for (const [given, problem] of refused) {
    it(`rejects ${JSON.stringify(given)}`, () => {
      const reading = readDomain(given);
      assert.ok('problem' in reading, JSON.stringify(reading));
      assert.match(reading.problem, problem);
    });
  }
});

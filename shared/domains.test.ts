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

  const HOST_NAME = [
    '',
    '.',
    'a..b',
    'app.example.com..',
    '.example.com',
    '-a.example.com',
    'a_b.example.com',
  ];
  /** By the problem. */
  const refused: readonly (readonly [problem: RegExp, given: readonly string[]])[] = [
    [/without https/, ['https://app.example.com', 'app.example.com/x', 'ann@example.com']],
    [/without a port/, ['app.example.com:443']],
    [/not an IP address/, ['192.0.2.1', '0x7f.1', '１２７.0.0.1', '2001:db8::1', '[::1]', '*.192.0.2.1']],
    [/only as its first label/, ['*.*.example.com', 'a.*.example.com', '*example.com', '*.', '*']],
    [/two labels/, ['*.com', 'localhost', 'com.']],
    [/host name/, [...HOST_NAME, ' app.example.com', 'app.exam ple.com', 'app\t.example.com']],
    [/host name/, ['%61pp.example.com', `${'a'.repeat(64)}.example`]],
    [/host name|IP address/, ['example.1']],
    [/at most 244 characters/, [`a.${long}`]],
  ];
  for (const [problem, all] of refused)
    for (const given of all)
      it(`rejects ${JSON.stringify(given)}`, () => {
        const reading = readDomain(given);
        assert.ok('problem' in reading, JSON.stringify(reading));
        assert.match(reading.problem.text, problem);
      });
});

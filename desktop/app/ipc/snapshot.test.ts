import assert from 'node:assert/strict';
import { agentWords } from './snapshot.ts';

const GECKO = 'AppleWebKit/537.36 (KHTML, like Gecko)';

describe('agentWords', () => {
  const agents: [string, string][] = [
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${GECKO} Chrome/156.0 Safari/537.36`, 'Chrome on Windows'],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${GECKO} Chrome/156.0 Safari/537.36 Edg/156.0`,
      'Edge on Windows',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/156.0 Mobile/15E148 Safari/604.1',
      'Chrome on iPhone',
    ],
    [
      `Mozilla/5.0 (Linux; Android 16; SM-S931B) ${GECKO} SamsungBrowser/30.0 Chrome/146.0 Mobile Safari/537.36`,
      'Samsung Internet on Android',
    ],
    ['curl/8.18.0', 'curl'],
    ['Mozilla/5.0 (X11; Linux x86_64)', 'A program on Linux'],
    ['', 'An unknown program'],
    ['<b>Your bank</b>', 'An unknown program'],
  ];
  for (const [agent, words] of agents)
    it(`says ${words} for ${JSON.stringify(agent)}`, () => {
      assert.equal(agentWords(agent), words);
    });
});

import assert from 'node:assert/strict';
import { splitKeys } from './keys.ts';

describe('splitKeys', () => {
  for (const [input, keys] of [
    ['a', ['a']],
    ['qy', ['q', 'y']],
    ['\u{1B}[A\u{1B}OB', ['up', 'down']],
    ['\u{1B}', ['escape']],
    ['\u{1B}[5~x\r', ['page-up', 'x', 'enter']],
    ['\u{1B}[1;5C', []],
    ['ü漢\t\u{7F}\u{3}\u{C}', ['ü', '漢', 'tab', 'backspace', 'ctrl-c', 'ctrl-l']],
    ['', []],
  ] as const)
    it(`reads ${JSON.stringify(input)}`, () => assert.deepEqual(splitKeys(input), keys));
});

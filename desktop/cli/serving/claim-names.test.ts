import assert from 'node:assert/strict';
import { TUNNEL } from '../../testing/tunnel.ts';
import { claimNames } from './claim-names.ts';
import type { Prompt } from '../prompt.ts';

const OFFLINE = { ...TUNNEL, name: 'off', online: false };
const ONLINE = { ...TUNNEL, name: 'on', online: true };
const api = { listTunnels: () => Promise.resolve([OFFLINE, ONLINE, { ...TUNNEL, name: '' }]) };

function answering(answer: string): Prompt & { readonly questions: string[] } {
  const questions: string[] = [];
  const ask = (question: string): Promise<string> => {
    questions.push(question);
    return Promise.resolve(answer);
  };
  return { isInteractive: true, ask, askSecret: ask, questions };
}

describe('claimNames', () => {
  it('takes over what has no client, and asks nobody for that', async () => {
    const prompt = answering('');
    assert.deepEqual([...(await claimNames(api, ['off', 'new'], prompt))], [['off', 'take-over']]);
    assert.deepEqual(prompt.questions, []);
  });

  for (const [answer, claim] of [
    ['y', 'take-over'],
    ['Yes ', 'take-over'],
    ['', 'leave'],
    ['n', 'leave'],
  ] as const) {
    it(`asks about what has one: "${answer}" is ${claim}`, async () => {
      const prompt = answering(answer);
      assert.deepEqual([...(await claimNames(api, ['on'], prompt))], [['on', claim]]);
      assert.match(prompt.questions.join(''), /"on" from its port 3000\. Take its place\? \[y\/N\] $/);
    });
  }

  it('leaves what has one where nobody can be asked', async () => {
    assert.deepEqual([...(await claimNames(api, ['on'], undefined))], [['on', 'leave']]);
  });

  it('asks the relay for nothing without a name, and leaves its failures to the create', async () => {
    const failing = { listTunnels: () => Promise.reject(new Error('down')) };
    assert.equal((await claimNames(failing, [], undefined)).size, 0);
    assert.equal((await claimNames(failing, ['on'], undefined)).size, 0);
  });
});

import assert from 'node:assert/strict';
import { askInDialog } from './ask-owner.ts';

function answer(response: number, ended = new AbortController().signal): Promise<boolean | undefined> {
  const dialog = { showMessageBox: () => Promise.resolve({ response, checkboxChecked: false }) };
  return askInDialog(dialog)('open a tunnel to port 3000', ended);
}

describe('askInDialog', () => {
  it('agrees only by its button, and only in time', async () => {
    const answers = await Promise.all([answer(0), answer(1), answer(2), answer(1, AbortSignal.abort())]);
    assert.deepEqual(answers, [false, true, false, false]);
  });
});

import assert from 'node:assert/strict';
import { toMessage } from '../../../client/messages.ts';
import { DEFAULT_LOCALE } from '../../messages/locale.ts';
import { setLocale } from '../../messages/translate.ts';
import { askInDialog } from './ask-owner.ts';

const QUESTION = toMessage('question.open', { port: 3000, access: toMessage('question.everybody') });

function answer(response: number, ended = new AbortController().signal): Promise<boolean | undefined> {
  const dialog = { showMessageBox: () => Promise.resolve({ response, checkboxChecked: false }) };
  return askInDialog(dialog)(QUESTION, ended);
}

describe('askInDialog', () => {
  it('agrees only by its button, and only in time', async () => {
    const answers = await Promise.all([answer(0), answer(1), answer(2), answer(1, AbortSignal.abort())]);
    assert.deepEqual(answers, [false, true, false, false]);
  });

  it('asks in the language of its user', async () => {
    const details: (string | undefined)[] = [];
    const dialog: Parameters<typeof askInDialog>[0] = {
      showMessageBox: (...given: unknown[]) => {
        details.push((given.at(-1) as { detail?: string }).detail);
        return Promise.resolve({ response: 0, checkboxChecked: false });
      },
    };
    const ask = askInDialog(dialog);
    await ask(QUESTION, new AbortController().signal);
    setLocale({ language: 'de', tag: 'de-DE' });
    try {
      await ask(QUESTION, new AbortController().signal);
    } finally {
      setLocale(DEFAULT_LOCALE);
    }
    assert.deepEqual(details, [
      'open a tunnel to port 3000, open to everybody',
      'einen Tunnel zu Port 3000 öffnen, offen für alle',
    ]);
  });
});

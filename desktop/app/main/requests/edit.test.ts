import assert from 'node:assert/strict';
import { EditRefused, type RequestEdit } from '../../../client/inspector/edit.ts';
import type { RequestDetail } from '../../../client/inspector/records.ts';
import { ReplayRefused } from '../../../client/inspector/replay.ts';
import { RequestLog } from '../../../client/inspector/request-log.ts';
import { toMessage } from '../../../client/messages.ts';
import { DEFAULT_LOCALE } from '../../messages/locale.ts';
import { setLocale } from '../../messages/translate.ts';
import { editView, sendEdited } from './edit.ts';

const FORM = { method: 'PUT', target: '/x', fields: [['X', 'ü']] as const, body: 'ä', signs: false };

function recorded(request: string): RequestDetail {
  const log = new RequestLog();
  log.open().toLocal(Buffer.from(request, 'latin1'));
  return log.detail(1) ?? assert.fail('the request was not recorded');
}

function tunnelThat(answers: (edit: RequestEdit) => Promise<number>) {
  const log = {
    replay: () => assert.fail('it was repeated as it is'),
    replayEdited: (_id: number, edit: RequestEdit) => answers(edit),
    send: () => assert.fail('it is of this log'),
    detail: () => undefined,
  };
  return { key: 'k', form: { name: '' }, log };
}

const UNSIGNED = { replayEdited: () => assert.fail('it was signed') };

describe('a request that is edited in the window', () => {
  it('is shown without its secrets and without what Culvert writes, as text', () => {
    const view = editView(
      recorded(
        'POST /a?token=s3cret HTTP/1.1\r\nHost: x\r\nX-Name: \xc3\xbc\r\nCookie: a=s3cret\r\nContent-Length: 2\r\n\r\n\xc3\xa4',
      ),
      undefined,
    );
    assert.deepEqual(view, {
      method: 'POST',
      target: '/a?token=[redacted]',
      fields: [
        ['X-Name', 'ü'],
        ['Cookie', 'a=[redacted]'],
      ],
      body: 'ä',
      bodySize: 2,
      isCut: false,
      signer: undefined,
    });
  });

  it('has no body to edit where it is not text, or was cut', () => {
    const binary = recorded('POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\xff');
    assert.equal(editView(binary, undefined).body, undefined);
    const long = recorded(`POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`);
    const cut = editView(long, undefined);
    assert.deepEqual([cut.body, cut.isCut], [undefined, true]);
  });

  it('is sent as UTF-8, or with the body that it had', async () => {
    const sent: RequestEdit[] = [];
    const tunnel = tunnelThat((edit) => Promise.resolve(sent.push(edit)));
    const result = await sendEdited(tunnel, 1, FORM, UNSIGNED);
    assert.deepEqual(result, { sent: { id: 1, status: undefined } });
    await sendEdited(tunnel, 1, { ...FORM, body: null }, UNSIGNED);
    assert.deepEqual(
      sent.map(({ fields, body }) => [fields, body && [...body]]),
      [
        [[['X', '\xc3\xbc']], [0xc3, 0xa4]],
        [[['X', '\xc3\xbc']], undefined],
      ],
    );
  });

  it('can be signed where a secret of its service is set, and is if that is wanted', async () => {
    const webhook = recorded('POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx');
    const signature = { provider: 'stripe', verdict: 'too-old' } as const;
    const check = { signature, name: 'Stripe', secrets: [], isKept: true };
    assert.equal(editView(webhook, check).signer, undefined);
    assert.equal(editView(webhook, { ...check, secrets: [{ id: 's', addedAt: 0 }] }).signer, 'Stripe');
    const unsigned = tunnelThat(() => assert.fail('it was not signed'));
    const signing = { replayEdited: () => Promise.resolve(3) };
    const result = await sendEdited(unsigned, 1, { ...FORM, signs: true }, signing);
    assert.deepEqual(result, { sent: { id: 3, status: undefined } });
  });

  it('comes back with what is wrong with it; anything else is a failure', async () => {
    const refused = new EditRefused([{ part: 'method', said: toMessage('edit.connect') }]);
    const wrong = tunnelThat(() => Promise.reject(refused));
    setLocale({ language: 'de', tag: 'de-DE' });
    const text = 'Als Methode geht jede außer CONNECT, das für Proxys da ist.';
    assert.deepEqual(await sendEdited(wrong, 1, FORM, UNSIGNED), { problems: [{ part: 'method', text }] });
    setLocale(DEFAULT_LOCALE);
    const gone = tunnelThat(() => Promise.reject(new ReplayRefused('local-refused', 'Nobody.')));
    await assert.rejects(sendEdited(gone, 1, FORM, UNSIGNED), ReplayRefused);
  });
});

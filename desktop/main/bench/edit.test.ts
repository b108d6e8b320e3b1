import assert from 'node:assert/strict';
import { EditRefused, type RequestEdit } from '../../engine/inspector/editing/request-edit.ts';
import type { RequestDetail } from '../../engine/inspector/records.ts';
import { ReplayRefused } from '../../engine/inspector/replay.ts';
import { RequestLog } from '../../engine/inspector/request-log.ts';
import { editView, sendEdited } from './edit.ts';

const FORM = { method: 'PUT', target: '/x', fields: [['X', 'ü']] as const, body: 'ä' };

function recorded(request: string): RequestDetail {
  const log = new RequestLog();
  log.open().toLocal(Buffer.from(request, 'latin1'));
  return log.detail(1) ?? assert.fail('the request was not recorded');
}

function logThat(answers: (edit: RequestEdit) => Promise<number>) {
  return { replayEdited: (_id: number, edit: RequestEdit) => answers(edit), detail: () => undefined };
}

describe('a request that is edited in the window', () => {
  it('is shown without its secrets and without what Culvert writes, as text', () => {
    const view = editView(
      recorded(
        'POST /a?token=s3cret HTTP/1.1\r\nHost: x\r\nX-Name: \xc3\xbc\r\nCookie: a=s3cret\r\nContent-Length: 2\r\n\r\n\xc3\xa4',
      ),
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
    });
  });

  it('has no body to edit where it is not text, or was cut', () => {
    assert.equal(editView(recorded('POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\xff')).body, undefined);
    const cut = editView(recorded(`POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`));
    assert.deepEqual([cut.body, cut.isCut], [undefined, true]);
  });

  it('is sent as UTF-8, or with the body that it had', async () => {
    const sent: RequestEdit[] = [];
    const log = logThat((edit) => Promise.resolve(sent.push(edit)));
    assert.deepEqual(await sendEdited(log, 1, FORM), { sent: { id: 1, status: undefined } });
    await sendEdited(log, 1, { ...FORM, body: null });
    assert.deepEqual(
      sent.map(({ fields, body }) => [fields, body && [...body]]),
      [
        [[['X', '\xc3\xbc']], [0xc3, 0xa4]],
        [[['X', '\xc3\xbc']], undefined],
      ],
    );
  });

  it('comes back with what is wrong with it; anything else is a failure', async () => {
    const problems = [{ part: 'method', text: 'No.' }];
    const wrong = logThat(() => Promise.reject(new EditRefused(problems)));
    assert.deepEqual(await sendEdited(wrong, 1, FORM), { problems });
    const gone = logThat(() => Promise.reject(new ReplayRefused('local-refused', 'Nobody.')));
    await assert.rejects(sendEdited(gone, 1, FORM), ReplayRefused);
  });
});

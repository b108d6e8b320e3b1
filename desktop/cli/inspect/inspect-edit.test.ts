import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { checkEdit, composeRequest } from '../../client/inspector/edit.ts';
import { writtenValue } from '../../client/inspector/readable.ts';
import { type RequestDetail, trimBlanks } from '../../client/inspector/records.ts';
import { RequestLog } from '../../client/inspector/request-log.ts';
import { changed, editedByHand, parseRequestText, requestText, RequestTextError } from './inspect-edit.ts';

const REQUEST =
  'POST /hook?token=s3cret HTTP/1.1\r\nHost: x\r\nX-Name: Gr\xc3\xbc\xc3\x9fe\r\nAuthorization: Bearer s3cret\r\n' +
  'Content-Length: 9\r\n\r\n{"a":\n 1}';

function recorded(request: string | Buffer = REQUEST, reveal = false): RequestDetail {
  const log = new RequestLog();
  log.open().toLocal(Buffer.from(request.toString('latin1'), 'latin1'));
  return log.detail(1, { reveal }) ?? assert.fail('the request was not recorded');
}

function text(body: Uint8Array | undefined): string | undefined {
  return body && Buffer.from(body).toString();
}

describe('a request as a text to edit', () => {
  it('looks like a handwritten request, with a note on what is left out', () => {
    const [, ...lines] = requestText(recorded()).split('\n');
    assert.deepEqual(lines, [
      '# Lines that begin with # are ignored. Culvert sets Host, Content-Length and the headers that control the connection.',
      '# [redacted] stands for a hidden secret; --reveal shows it.',
      'POST /hook?token=[redacted]',
      'X-Name: Grüße',
      'Authorization: Bearer [redacted]',
      '',
      '{"a":',
      ' 1}',
      '',
    ]);
  });

  it('parses back to the same request', () => {
    const edits = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PURGE'),
      target: fc.stringMatching(/^\/[!-"$-~]{0,12}$/),
      fields: fc.array(
        fc.tuple(
          fc.stringMatching(/^X-[A-Za-z\d-]{1,6}$/),
          fc.string({ unit: 'grapheme', maxLength: 8 }).map((value) => writtenValue(trimBlanks(value))),
        ),
        { maxLength: 4 },
      ),
      body: fc.string({ unit: 'grapheme' }).map((body) => new TextEncoder().encode(body)),
    });
    let count = 0;
    fc.assert(
      fc.property(edits, (edit) => {
        if (checkEdit(edit).length > 0 || edit.body.includes(0)) return;
        count += 1;
        const shown = requestText(recorded(composeRequest(edit, 'x'), true));
        const again = parseRequestText(shown, true);
        assert.deepEqual({ ...again, body: [...(again?.body ?? [])] }, { ...edit, body: [...edit.body] });
      }),
      { numRuns: 500 },
    );
    assert.ok(count > 50, `${count} requests`);
  });

  it('keeps a binary body unless it is replaced', () => {
    const detail = recorded(Buffer.from('POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n\0\xff', 'latin1'));
    const shown = requestText(detail);
    assert.match(shown, /# The body \(2 B\) is not text\. It is sent unchanged/);
    assert.equal(parseRequestText(shown, false)?.body, undefined);
    assert.equal(text(parseRequestText(`${shown}new`, false)?.body), 'new');
  });

  it('reports the line of an error', () => {
    assert.throws(
      () => parseRequestText('GET', true),
      /The first line must be a method and a path.*but it is "GET"/,
    );
    assert.throws(() => parseRequestText('GET /\nX 1\n', true), RequestTextError);
    assert.equal(parseRequestText('# only\n# notes\n\n', true), undefined);
    assert.equal(parseRequestText('GET /a HTTP/1.1\r\nX: 1\r\n\r\n', true)?.target, '/a');
  });
});

describe('an edit', () => {
  it('is not sent when nothing was changed or everything was removed', async () => {
    assert.equal(await editedByHand(recorded(), (shown) => Promise.resolve(shown)), undefined);
    assert.equal(await editedByHand(recorded(), () => Promise.resolve('')), undefined);
  });

  it('keeps an untouched body as it was recorded', async () => {
    const edit = await editedByHand(recorded(), (shown) => Promise.resolve(shown.replace('POST', 'PUT')));
    assert.deepEqual([edit?.method, edit?.body], ['PUT', undefined]);
    const other = await editedByHand(recorded(), (shown) => Promise.resolve(shown.replace('1}', '2}')));
    assert.equal(text(other?.body), '{"a":\n 2}');
  });

  it('follows the command line', async () => {
    const changes = {
      method: 'PUT',
      path: '/b',
      headers: ['X-name: ü', 'X-New:1', 'Authorization:'],
      body: '-',
    };
    const edit = await changed(recorded(), changes, () => Promise.resolve(Buffer.from('piped')));
    assert.deepEqual([edit.method, edit.target, text(edit.body)], ['PUT', '/b', 'piped']);
    assert.deepEqual(edit.fields, [
      ['X-name', '\xc3\xbc'],
      ['X-New', '1'],
    ]);
    const same = { method: undefined, path: undefined, headers: [], body: 'b' };
    const { target, body } = await changed(recorded(), same, () => assert.fail('nothing is read'));
    assert.deepEqual([target, text(body)], ['/hook?token=[redacted]', 'b']);
    await assert.rejects(
      changed(recorded(), { ...same, headers: ['X'] }, () => assert.fail()),
      /A header must have the form "Name: value"/,
    );
  });
});

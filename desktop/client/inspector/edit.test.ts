import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parseRequestHead } from '../../../shared/http1/head.ts';
import {
  checkEdit,
  composeRequest,
  editable,
  editedRequest,
  EditRefused,
  fieldBytes,
  type RequestEdit,
  EDITED_FIELDS_MAX,
  EDITED_HEAD_MAX_BYTES,
  EDITED_METHOD_MAX_CHARS,
  EDITED_TARGET_MAX_CHARS,
} from './edit.ts';
import { type RequestDetail, trimBlanks, RECORDED_BODY_MAX_BYTES } from './records.ts';
import { RequestLog } from './request-log.ts';
import { textOf } from '../messages.ts';

const PLAIN: RequestEdit = { method: 'POST', target: '/hook?a=1', fields: [['X-A', 'b']], body: undefined };

const RECORDED =
  'PUT /x?token=s3cret&a=1&token=other HTTP/1.1\r\nHost: demo.example.com\r\nAuthorization: Bearer s3cret\r\n' +
  'Cookie: sid=s3cret; theme=light\r\nConnection: keep-alive\r\nContent-Length: 2\r\nX-Plain: 1\r\n\r\nhi';

function recorded(request: string, reveal = true): RequestDetail {
  const log = new RequestLog();
  log.open().toLocal(Buffer.from(request, 'latin1'));
  return log.detail(1, { reveal }) ?? assert.fail('the request was not recorded');
}

function faults(edit: Partial<RequestEdit>): Record<string, string> {
  return Object.fromEntries(checkEdit({ ...PLAIN, ...edit }).map(({ part, said }) => [part, textOf(said)]));
}

function parsed(bytes: Buffer): { lines: unknown; fields: [string, string][]; body: string } {
  const end = bytes.indexOf('\r\n\r\n') + 4;
  const head = parseRequestHead(Buffer.from(bytes.subarray(0, end)), { target: Infinity, fields: Infinity });
  if (typeof head === 'string') assert.fail(`the head is refused: ${head}`);
  const fields = head.fields.map(({ name, value }): [string, string] => [name, value]);
  return { lines: [head.method, head.target, head.minor], fields, body: bytes.toString('latin1', end) };
}

describe('an edited request', () => {
  it('keeps its Host, and updates the length of its body', () => {
    const original = recorded(RECORDED);
    const edit = { ...PLAIN, body: Buffer.from('three') };
    assert.equal(
      editedRequest(original, edit).toString(),
      'POST /hook?a=1 HTTP/1.1\r\nHost: demo.example.com\r\nX-A: b\r\nContent-Length: 5\r\n\r\nthree',
    );
  });

  it('equals the recorded one without changes, apart from what culvert generates, with secrets shown or not', () => {
    for (const reveal of [true, false]) {
      const { lines, fields, body } = parsed(
        editedRequest(recorded(RECORDED), editable(recorded(RECORDED, reveal))),
      );
      assert.deepEqual(lines, ['PUT', '/x?token=s3cret&a=1&token=other', 1]);
      assert.deepEqual(fields, [
        ['Host', 'demo.example.com'],
        ['Authorization', 'Bearer s3cret'],
        ['Cookie', 'sid=s3cret; theme=light'],
        ['X-Plain', '1'],
        ['Content-Length', '2'],
      ]);
      assert.equal(body, 'hi');
    }
  });

  it('restores a secret only at its original place, even if its surroundings have changed', () => {
    const { fields } = parsed(
      editedRequest(recorded(RECORDED), {
        ...editable(recorded(RECORDED, false)),
        target: '/other?b=2&token=[redacted]',
        fields: [['cookie', 'theme=dark; sid=[redacted]']],
      }),
    );
    assert.deepEqual(fields[1], ['cookie', 'theme=dark; sid=s3cret']);
    for (const stray of [
      { target: '/?key=[redacted]' },
      { fields: [['Authorization', 'Basic [redacted]']] as const },
      { fields: [['X-Api-Key', '[redacted]']] as const },
      { fields: [['Cookie', 'theme=[redacted]; other=[redacted]']] as const },
    ]) {
      const edit = { ...editable(recorded(RECORDED, false)), ...stray };
      assert.throws(
        () => editedRequest(recorded(RECORDED), edit),
        (error) =>
          error instanceof EditRefused && /contains \[redacted\].*has no secret there/.test(error.message),
        JSON.stringify(stray),
      );
    }
  });

  for (const [field, moved] of [
    ['X-Note: Basic dTpw and more', 'now Basic [redacted]'],
    ['Referer: https://h/?token=//ann:se&cret@h', 'https://h/?token=[redacted]'],
  ] as const)
    it(`restores no secret where a part of it would be shown: ${moved}`, () => {
      const original = recorded(`GET / HTTP/1.1\r\nHost: x\r\n${field}\r\n\r\n`);
      const edit = { ...PLAIN, fields: [[field.split(':')[0] ?? '', moved]] as const };
      assert.throws(() => editedRequest(original, edit), EditRefused);
    });

  it('starts in ASCII with the same meaning if the recorded address has other bytes', () => {
    const log = recorded('GET /caf\xc3\xa9?\xff HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal(editable(log).target, '/caf%C3%A9?%FF');
  });

  it('is rejected with a message for each invalid part', () => {
    assert.deepEqual(faults({}), {});
    assert.deepEqual(faults({ method: 'OPTIONS', target: '*' }), {});
    const wrong: [Partial<RequestEdit>, part: string, text: RegExp][] = [
      [{ method: '' }, 'method', /1 to 32 letters/],
      [{ method: 'A B' }, 'method', /1 to 32 letters/],
      [{ method: 'GET\r\nX: 1' }, 'method', /1 to 32 letters/],
      [{ method: 'x'.repeat(EDITED_METHOD_MAX_CHARS + 1) }, 'method', /1 to 32 letters/],
      [{ method: 'CONNECT' }, 'method', /cannot be CONNECT/],
      [{ target: 'x' }, 'target', /must begin with \//],
      [{ target: '*' }, 'target', /must begin with \//],
      [{ target: '/a b' }, 'target', /%20/],
      [{ target: '/#x' }, 'target', /other than #/],
      [{ target: '/ä' }, 'target', /visible ASCII/],
      [{ target: '/ HTTP/1.1\r\nX: 1' }, 'target', /cannot contain a line break/],
      [{ target: `/${'x'.repeat(EDITED_TARGET_MAX_CHARS)}` }, 'target', /at most 8192 characters.*has 8193/],
      [{ fields: [['A B', '1']] }, 'fields.0.name', /^"A B" is not a valid header name.*without spaces/],
      [{ fields: [['', '1']] }, 'fields.0.name', /letters, digits/],
      [{ fields: ['X', 'Y\r\nZ'].map((name) => [name, '1']) }, 'fields.1.name', /letters, digits/],
      [{ fields: [['X', 'a\r\nY: 1']] }, 'fields.0.value', /value of X cannot contain a line break/],
      [{ fields: [['X', 'a\0']] }, 'fields.0.value', /cannot contain control characters/],
      [{ fields: [['X', 'a\x7f']] }, 'fields.0.value', /cannot contain control characters/],
      [
        { fields: Array.from({ length: EDITED_FIELDS_MAX + 1 }, () => ['X', '1']) },
        'fields',
        /at most 256 headers.*has 257/,
      ],
      [
        { fields: [['X', 'x'.repeat(EDITED_HEAD_MAX_BYTES)]] },
        'fields',
        /The headers can total at most 32 KiB/,
      ],
      [{ body: Buffer.alloc(RECORDED_BODY_MAX_BYTES + 1) }, 'body', /at most 256 KiB\. This one is 257 KiB/],
    ];
    for (const [edit, part, text] of wrong)
      assert.match(faults(edit)[part] ?? '', text, JSON.stringify(edit));
    for (const name of 'Host content-length Transfer-Encoding Connection Upgrade TE Trailer Expect'.split(
      ' ',
    ))
      assert.match(faults({ fields: [[name, '1']] })['fields.0.name'] ?? '', /Culvert sets the header/, name);
  });

  it('may be as large as the limits', () => {
    const edit = {
      method: 'x'.repeat(EDITED_METHOD_MAX_CHARS),
      target: `/${'x'.repeat(EDITED_TARGET_MAX_CHARS - 1)}`,
      fields: Array.from({ length: EDITED_FIELDS_MAX }, () => ['X', '1'] as const),
      body: Buffer.alloc(RECORDED_BODY_MAX_BYTES),
    };
    assert.deepEqual(faults(edit), {});
  });

  it('is exactly one request with exactly the given content', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({ maxLength: 12 }),
      fc.constant('GET'),
    );
    const edits = fc.record({
      method: fc.oneof(text, fc.constant('POST')),
      target: text.map((rest) => `/${rest}`),
      fields: fc.array(fc.tuple(fc.oneof(text, fc.stringMatching(/^[A-Za-z-]{1,8}$/)), text), {
        maxLength: 4,
      }),
      body: fc.uint8Array({ maxLength: 40 }),
    });
    let sent = 0;
    fc.assert(
      fc.property(edits, (edit) => {
        if (checkEdit(edit).length > 0) return;
        sent += 1;
        const { lines, fields, body } = parsed(composeRequest(edit, 'a.example'));
        assert.deepEqual(lines, [edit.method, edit.target, 1]);
        const hasLength = edit.body.length > 0 || edit.method === 'POST';
        assert.deepEqual(fields, [
          ['Host', 'a.example'],
          ...edit.fields.map(([name, value]) => [name, trimBlanks(fieldBytes(value).toString('latin1'))]),
          ...(hasLength ? [['Content-Length', String(edit.body.length)]] : []),
        ]);
        assert.equal(body, Buffer.from(edit.body).toString('latin1'));
      }),
      { numRuns: 500 },
    );
    assert.ok(sent > 10, `${sent} of the requests were right`);
  });
});

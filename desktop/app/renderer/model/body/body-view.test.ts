import assert from 'node:assert/strict';
import type { RecordedMessage } from '../../../../client/inspector/records.ts';
import type { MessageView } from '../../../../client/inspector/records.ts';
import {
  bodyView,
  dataUrl,
  hexDump,
  imageType,
  isSvgImage,
  plainText,
  prettyText,
  readForm,
  shownWays,
} from './body-view.ts';
import { readJson } from './json-document.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function message(
  body: string | Uint8Array,
  fields: RecordedMessage['fields'],
  isTruncated = false,
): MessageView {
  return {
    startLine: 'POST / HTTP/1.1',
    fields,
    body: typeof body === 'string' ? bytes(body) : body,
    isTruncated,
  };
}

function notes(body: string, type: string, isCut = false): readonly string[] | undefined {
  return bodyView(message(body, [['Content-Type', type]], isCut))?.notes;
}

describe('bodies', () => {
  it('formats JSON, and keeps its digits and repeated names', () => {
    const view = bodyView(message('{"id":12345678901234567890,"a":1.0,"a":2}', []));
    assert.ok(view);
    assert.match(prettyText(view), /^\{\n {2}"id": 12345678901234567890,\n {2}"a": 1\.0,\n {2}"a": 2\n\}$/);
    assert.equal(prettyText({ text: '{"a":', json: undefined }), '{"a":');
  });

  it('recognises JSON, forms, images and pages', () => {
    const of = (body: string | Uint8Array, type: string) => bodyView(message(body, [['Content-Type', type]]));
    assert.equal(of('{"a":1}', 'text/plain')?.json?.nodes.length, 2);
    assert.equal(bodyView(message('[1,2', [], true))?.json?.isCut, true);
    assert.equal(of('a=1&b=x+y', 'application/x-www-form-urlencoded')?.form?.parts[1]?.value, 'x y');
    assert.equal(of(new Uint8Array([0xff, 0xd8, 0xff]), 'text/html')?.image?.name, 'JPEG');
    assert.equal(of('<svg/>', 'image/svg+xml')?.image?.name, 'SVG');
    assert.equal(of('<p>', 'text/html; charset=utf-8')?.html, '<p>');
    assert.equal(of('<p>', 'text/plain')?.html, undefined);
  });

  it('does not interpret a body that is still compressed', () => {
    const decoded = {
      bytes: bytes('a=1'),
      removed: [],
      codings: ['compress'],
      problem: 'unknown' as const,
    };
    const fields = [['Content-Type', 'application/x-www-form-urlencoded']] as const;
    const view = bodyView({ ...message('a=1', fields), decoded });
    assert.deepEqual([view?.form, view?.json, view?.text], [undefined, undefined, undefined]);
  });

  it('shows characters that hide or reverse text', () => {
    const text = '{"a":"x\u{202E}gpj.exe\u{9B}"}\n\t';
    assert.equal(plainText({ text }), '{"a":"x\\u{202e}gpj.exe\\x9b"}\n\t');
    assert.match(prettyText({ text, json: readJson(text, false) }), /x\\u\{202e\}gpj\.exe\\x9b/);
  });

  it('recognises binary and empty bodies', () => {
    const view = bodyView(message(new Uint8Array([0x89, 0x50, 0xff]), []));
    assert.deepEqual([view?.text, view?.notes], [undefined, ['Not text']]);
    assert.equal(bodyView(message('', [])), undefined);
  });

  it('explains where a body stops being the JSON that it claims to be', () => {
    const broken = '{\n  "a": 1,\n}';
    assert.deepEqual(notes(broken, 'application/json; charset=utf-8'), [
      'Invalid JSON at line 3, column 1: }',
    ]);
    assert.deepEqual(notes(broken, 'application/problem+json'), ['Invalid JSON at line 3, column 1: }']);
    assert.deepEqual(notes('{"a":', 'application/json'), ['Invalid JSON: unexpected end on line 1']);
    assert.deepEqual(notes('"a"', 'application/json'), []);
    assert.deepEqual(notes(broken, 'text/plain'), []);
    assert.deepEqual(notes('{"a":', 'application/json', true), ['Start of a longer body']);
    assert.deepEqual(notes('{"a":1}\n{"a":2}\n', 'application/x-ndjson'), []);
  });

  it('says how long a body is if it shows only the beginning', () => {
    const view = bodyView({ ...message('{"a":', []), wholeBytes: 10_485_760 });
    assert.deepEqual(view?.notes, ['Start of 10 MiB; an export as HAR has all of it']);
    assert.equal(view.json?.isCut, true);
    const recordedInPart = { ...message('{"a":', []), isTruncated: true, wholeBytes: 10_485_760 };
    assert.deepEqual(bodyView(recordedInPart)?.notes, ['Start of a longer body']);
    const decoded = {
      bytes: bytes('{"a":'),
      removed: ['gzip'],
      codings: [],
      problem: undefined,
      isCut: true,
    };
    const packed = bodyView({ ...message('packed', []), decoded });
    assert.deepEqual(packed?.notes, ['Start of a longer body', 'Decompressed (gzip)']);
  });

  it('shows a compressed body decoded, with a note', () => {
    const decoded = { bytes: bytes('{"a":1}'), removed: ['gzip'], codings: [], problem: undefined };
    const view = bodyView({ ...message('packed', []), decoded });
    assert.deepEqual([view?.text, view?.notes], ['{"a":1}', ['Decompressed (gzip)']]);
  });

  it('explains why a compressed body is shown as sent', () => {
    const decoded = { bytes: bytes('packed'), removed: [], codings: ['gzip'] };
    const problems = {
      unknown: 'unknown encoding (gzip)',
      damaged: '(gzip) but cannot be decompressed',
      'too-large': '(gzip) and larger than 1 MiB',
      'too-many': 'too many times (gzip)',
    } as const;
    for (const [problem, word] of Object.entries(problems)) {
      const view = bodyView({
        ...message('packed', []),
        decoded: { ...decoded, problem: problem as keyof typeof problems },
      });
      assert.equal(view?.text, undefined);
      const note = view?.notes.join() ?? '';
      assert.ok(note.includes(word) && note.endsWith('so it is shown as sent.'), note);
    }
  });

  it('treats a body that is cut within a character as text', () => {
    const cut = bytes('grün').subarray(0, 3);
    assert.equal(bodyView(message(cut, [], true))?.text, 'gr');
    assert.equal(bodyView(message(cut, []))?.text, undefined);
  });
});

const imageTypeBytes = (latin1: string): Uint8Array =>
  Uint8Array.from(latin1, (character) => character.charCodeAt(0));

describe('images', () => {
  it('are recognised by their first bytes', () => {
    const files = {
      'image/png': '\x89PNG\r\n\x1a\n....',
      'image/jpeg': '\xff\xd8\xff\xe0',
      'image/gif': 'GIF89a..',
      'image/webp': 'RIFF....WEBPVP8 ',
      'image/avif': '\0\0\0\x20ftypavif',
    };
    for (const [type, file] of Object.entries(files))
      assert.equal(imageType(imageTypeBytes(file))?.type, type);
    for (const other of ['', '\x89PNG', '<svg>', '%PDF-1.7', 'WEBP'])
      assert.equal(imageType(imageTypeBytes(other)), undefined);
  });

  it('are SVG if the sender claims it and the content agrees', () => {
    assert.equal(isSvgImage('image/svg+xml; charset=utf-8', '<?xml?><svg xmlns="x">'), true);
    assert.equal(isSvgImage('text/html', '<svg>'), false);
    assert.equal(isSvgImage('image/svg+xml', '<p>'), false);
  });

  it('become an address, even large ones', () => {
    const body = Uint8Array.from({ length: 20_000 }, (_, n) => n % 256);
    const [head, content = ''] = dataUrl('image/png', body).split(',');
    assert.equal(head, 'data:image/png;base64');
    assert.deepEqual(imageTypeBytes(atob(content)), body);
  });
});

describe('hexDump', () => {
  it('has offsets, bytes and printable characters', () => {
    const dump = hexDump(new TextEncoder().encode('0123456789abcdef\n!'));
    assert.deepEqual(dump.split('\n'), [
      '000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef',
      `000010  0a 21${' '.repeat(42)}  .!`,
    ]);
  });

  it('ends after 64 KiB', () => {
    assert.equal(hexDump(new Uint8Array(100_000)).split('\n').length, 4096);
  });
});

function ways(type: string, body: string): readonly string[] {
  const view = bodyView({
    startLine: '',
    fields: [['Content-Type', type]],
    body: Uint8Array.from(body, (character) => character.charCodeAt(0)),
    isTruncated: false,
  });
  assert.ok(view);
  return shownWays(view);
}

describe('the views of a body', () => {
  it('start with the most suitable', () => {
    assert.deepEqual(ways('application/json', '{"a":1}'), ['json', 'pretty', 'text', 'hex']);
    assert.deepEqual(ways('application/x-www-form-urlencoded', 'a=1'), ['form', 'text', 'hex']);
    assert.deepEqual(ways('image/png', '\x89PNG\r\n\x1a\n'), ['image', 'hex']);
    assert.deepEqual(ways('text/plain', 'x'), ['text', 'hex']);
    assert.deepEqual(ways('application/octet-stream', '\0'), ['hex']);
  });

  it('include a page or a drawing only on demand', () => {
    assert.deepEqual(ways('text/html', '<p>'), ['text', 'html', 'hex']);
    assert.deepEqual(ways('image/svg+xml', '<svg>'), ['text', 'image', 'hex']);
  });
});

const MULTIPART = 'multipart/form-data; boundary=XyZ';
const read = (text: string, type = MULTIPART) => readForm(new TextEncoder().encode(text), type);

/** A form as browsers send it. */
function multipart(...parts: [head: string, content: string][]): string {
  return `${parts.map(([head, content]) => `--XyZ\r\n${head}\r\n\r\n${content}\r\n`).join('')}--XyZ--\r\n`;
}

describe('a form', () => {
  it('is parsed with its files, their types and sizes', () => {
    const form = read(
      multipart(
        ['Content-Disposition: form-data; name="who"', 'Zoë\r\nsecond line'],
        [
          'Content-Disposition: form-data; name="pic"; filename="m%22ü.png"\r\nContent-Type: image/png',
          '\r\n\r\nabc',
        ],
      ),
    );
    assert.deepEqual(form, {
      isCut: false,
      parts: [
        { name: 'who', value: 'Zoë\r\nsecond line', file: undefined },
        {
          name: 'pic',
          value: undefined,
          file: { name: 'm"ü.png', type: 'image/png', size: 7, isCut: false },
        },
      ],
    });
  });

  it('is parsed like the query of an address', () => {
    const type = 'application/x-www-form-urlencoded';
    assert.deepEqual(
      read('a=1&b=x+y%21&b=caf%C3%A9&=', type)?.parts.map(({ name, value }) => [name, value]),
      [
        ['a', '1'],
        ['b', 'x y!'],
        ['b', 'café'],
        ['', ''],
      ],
    );
    const many = read(Array.from({ length: 300 }, (_, n) => `a=${n}`).join('&'), type);
    assert.deepEqual([many?.parts.length, many?.isCut], [200, true]);
  });

  it('is shown as far as it was recorded', () => {
    const whole = multipart(['Content-Disposition: form-data; name="f"; filename="a"', 'x'.repeat(50)]);
    for (let end = '--XyZ'.length; end < whole.length - '--\r\n'.length; end++) {
      const form = read(whole.slice(0, end));
      assert.equal(form?.isCut, true, String(end));
    }
    assert.equal(read(whole.slice(0, 80))?.parts[0]?.file?.isCut, true);
  });

  it('may have an empty part, a quoted boundary, and many parts', () => {
    assert.equal(read(multipart(['Content-Disposition: form-data; name=a', '']))?.parts[0]?.value, '');
    const quoted = 'multipart/form-data; charset=utf-8; boundary="a b"';
    assert.equal(
      read('--a b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--a b--', quoted)?.parts.length,
      1,
    );
    const many = read(multipart(...Array.from({ length: 300 }, () => ['x: y', 'z'] as [string, string])));
    assert.deepEqual([many?.parts.length, many?.isCut], [200, true]);
  });

  it('contains no hidden characters, and long values are cut', () => {
    const value = read(multipart(['Content-Disposition: form-data; name="a\u202eb"', 'x'.repeat(5000)]))
      ?.parts[0];
    assert.equal(value?.name, 'a\\u{202e}b');
    assert.equal(value.value?.length, 2001);
  });

  it("needs a boundary and a form's media type", () => {
    assert.equal(read('abc', 'multipart/form-data'), undefined);
    assert.equal(read('abc'), undefined);
    assert.equal(read('{}', 'application/json'), undefined);
  });
});

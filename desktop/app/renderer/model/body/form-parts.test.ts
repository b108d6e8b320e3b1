import assert from 'node:assert/strict';
import { readForm } from './form-parts.ts';

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

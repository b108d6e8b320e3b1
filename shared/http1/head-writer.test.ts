import assert from 'node:assert/strict';
import { HeadWriter } from './head-writer.ts';
import { fieldsStart, parseRequestHead } from './head.ts';

const LIMITS = { target: 100, fields: 100 };

function head(fields: string) {
  const parsed = parseRequestHead(Buffer.from(`GET / HTTP/1.1\r\n${fields}\r\n`, 'latin1'), LIMITS);
  assert.ok(typeof parsed === 'object');
  return parsed;
}

describe('HeadWriter', () => {
  it('keeps what is to stay, in order, around what is written', () => {
    const request = head('A: 1\r\nB: 2\r\nC: 3\r\nD: \xff\r\n');
    const writer = new HeadWriter(request.bytes, 0);
    writer.keep(0, fieldsStart(request));
    for (const field of request.fields) if (!field.is('b')) writer.keepField(field);
    writer.text('E: \xa0\r\n\r\n');
    writer.bytes(Buffer.from('body'));
    assert.equal(
      writer.end().toString('latin1'),
      'GET / HTTP/1.1\r\nA: 1\r\nC: 3\r\nD: \xff\r\nE: \xa0\r\n\r\nbody',
    );
  });

  it('writes fields plainly, however they came', () => {
    const request = head('A:1\r\nB:\t2 \r\nC:  3\r\nD:\r\nE: 4\t\r\n');
    const writer = new HeadWriter(request.bytes, 0);
    for (const field of request.fields) writer.keepField(field);
    assert.equal(writer.end().toString('latin1'), 'A: 1\r\nB: 2\r\nC: 3\r\nD: \r\nE: 4\r\n');
  });

  it('takes more than it was told to expect', () => {
    const writer = new HeadWriter(Buffer.from('abc'), 0);
    writer.text('x'.repeat(1000));
    writer.keep(1, 3);
    writer.bytes(Buffer.alloc(5000, 'y'));
    assert.equal(writer.end().toString(), `${'x'.repeat(1000)}bc${'y'.repeat(5000)}`);
  });
});

import assert from 'node:assert/strict';
import { CompressionError, HeaderDecoder, HeaderEncoder } from './hpack.ts';

function decode(decoder: HeaderDecoder, hex: string): string[] {
  const fields: string[] = [];
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  decoder.decode(bytes, ({ name, value }) => fields.push(`${name}: ${value}`));
  return fields;
}

function encode(encoder: HeaderEncoder, fields: readonly (readonly [string, string])[]): Buffer {
  encoder.begin();
  for (const [name, value] of fields) encoder.add(name, value);
  return encoder.finish();
}

const FIRST = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'];
const SECOND = [...FIRST, 'cache-control: no-cache'];
const THIRD = [
  ':method: GET',
  ':scheme: https',
  ':path: /index.html',
  ':authority: www.example.com',
  'custom-key: custom-value',
];

describe('HeaderDecoder', () => {
  for (const [what, blocks] of [
    [
      'without Huffman coding (RFC 7541 section C.3)',
      [
        '828684410f7777772e6578616d706c652e636f6d',
        '828684be58086e6f2d6361636865',
        '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
      ],
    ],
    [
      'with Huffman coding (RFC 7541 section C.4)',
      [
        '828684418cf1e3c2e5f23a6ba0ab90f4ff',
        '828684be5886a8eb10649cbf',
        '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
      ],
    ],
  ] as const) {
    it(`reads three requests ${what}`, () => {
      const decoder = new HeaderDecoder();
      assert.deepEqual(
        blocks.map((block) => decode(decoder, block)),
        [FIRST, SECOND, THIRD],
      );
    });
  }

  it('drops the oldest fields from a table that was made smaller', () => {
    const decoder = new HeaderDecoder();
    decode(decoder, '3f11 4001610161 4001620162');
    assert.deepEqual(decode(decoder, '4001630163 be'), ['c: c', 'c: c']);
    assert.throws(() => decode(decoder, 'bf'), CompressionError);
  });

  const wrong: Record<string, string> = {
    'the index 0': '80',
    'an index beyond the table': 'be',
    'a table above its limit': '3fe21f',
    'a change of the table within a block': '8220',
    'an integer without an end': 'ffffffffffff',
    'an integer that breaks off': 'ff80',
    'a text beyond its block': '400161056162',
    'a text without its length': '400161',
    'a Huffman code of EOS': '40016184ffffffff',
    'padding of eight bits': '40016182f8ff',
    'padding that is not of ones': '4001618118',
  };
  for (const [what, block] of Object.entries(wrong)) {
    it(`refuses ${what}`, () => assert.throws(() => decode(new HeaderDecoder(), block), CompressionError));
  }

  it('judges each field once', () => {
    const kinds: string[] = [];
    const decoder = new HeaderDecoder();
    const lines: string[] = [];
    decoder.decode(
      Buffer.from('82 84 4001580179 40017803012062 40027465 0474726169'.replaceAll(' ', ''), 'hex'),
      (field) => {
        kinds.push(field.kind);
        lines.push(field.line);
      },
    );
    assert.deepEqual(kinds, ['method', 'path', 'malformed', 'malformed', 'malformed']);
    assert.deepEqual(new Set(lines), new Set(['']));
  });
});

describe('HeaderEncoder', () => {
  const fields: readonly (readonly [string, string])[] = [
    [':status', '200'],
    ['content-type', 'text/html; charset=utf-8'],
    ['x-powered-by', 'Express'],
    ['content-length', '1234'],
    ['set-cookie', 'a=\u{e9}; Path=/'],
    ['x-long', 'x'.repeat(300)],
  ];

  it('writes what a decoder reads, and repeats by index', () => {
    const [encoder, decoder] = [new HeaderEncoder(), new HeaderDecoder()];
    const blocks = [encode(encoder, fields), encode(encoder, fields)];
    for (const block of blocks)
      assert.deepEqual(
        decode(decoder, block.toString('hex')),
        fields.map(([name, value]) => `${name}: ${value}`),
      );
    assert.ok((blocks[1]?.length ?? Infinity) < (blocks[0]?.length ?? 0));
  });

  it('keeps to the table that the visitor has, and announces its changes', () => {
    const [encoder, decoder] = [new HeaderEncoder(), new HeaderDecoder()];
    for (const sizes of [[0], [64, 4096], [100_000], [40]]) {
      for (const size of sizes) encoder.resize(size);
      for (let round = 0; round < 3; round += 1)
        assert.equal(decode(decoder, encode(encoder, fields).toString('hex')).length, fields.length);
    }
  });

  it('never lets a cookie be indexed', () => {
    assert.equal(encode(new HeaderEncoder(), [['set-cookie', 'a']])[0], 0x1f);
  });
});

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

const FIRST_DATE = 'date: Mon, 21 Oct 2013 20:13:21 GMT';
const COMMON = ['cache-control: private', FIRST_DATE, 'location: https://www.example.com'];
const RESPONSES = [
  [':status: 302', ...COMMON],
  [':status: 307', ...COMMON],
  [
    ':status: 200',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:22 GMT',
    'location: https://www.example.com',
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
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

  // A table of 256 bytes, as these examples have it, which evicts fields.
  for (const [what, blocks] of [
    [
      'without Huffman coding (RFC 7541 section C.5)',
      [
        '3fe1014803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d',
        '4803333037c1c0bf',
        '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
      ],
    ],
    [
      'with Huffman coding (RFC 7541 section C.6)',
      [
        '3fe101488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
        '4883640effc1c0bf',
        '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
      ],
    ],
  ] as const) {
    it(`reads three responses, with evictions, ${what}`, () => {
      const decoder = new HeaderDecoder();
      assert.deepEqual(
        blocks.map((block) => decode(decoder, block)),
        RESPONSES,
      );
      // Only what is in the third response since then is still in the table.
      assert.throws(() => decode(decoder, 'c1'), CompressionError);
    });
  }

  for (const [what, block, field, isKept] of [
    [
      'indexed (C.2.1)',
      '400a637573746f6d2d6b65790d637573746f6d2d686561646572',
      'custom-key: custom-header',
      true,
    ],
    ['not indexed (C.2.2)', '040c2f73616d706c652f70617468', ':path: /sample/path', false],
    ['never indexed (C.2.3)', '100870617373776f726406736563726574', 'password: secret', false],
    ['of the static table (C.2.4)', '82', ':method: GET', false],
  ] as const) {
    it(`reads a field ${what}`, () => {
      const decoder = new HeaderDecoder();
      assert.deepEqual(decode(decoder, block), [field]);
      if (isKept) assert.deepEqual(decode(decoder, 'be'), [field]);
      else assert.throws(() => decode(decoder, 'be'), CompressionError);
    });
  }

  it('reads a field whose name is evicted by its own insertion, and one that empties the table', () => {
    const decoder = new HeaderDecoder();
    // Room for one field of two bytes: the second takes its name from the first.
    assert.deepEqual(decode(decoder, '3f03 4001610161 7e0162'), ['a: a', 'a: b']);
    assert.deepEqual(decode(decoder, 'be 7e026262'), ['a: b', 'a: bb']);
    assert.throws(() => decode(decoder, 'be'), CompressionError);
  });

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

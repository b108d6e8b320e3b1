import assert from 'node:assert/strict';
import { trackBody } from '../../shared/http1/body.ts';
import type { Field } from '../../shared/http1/fields.ts';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { reply } from './builtin-responses.ts';
import type { MessageField } from './message-fields.ts';
import { directsNoCache, NOINDEX_ENDING, PLAIN_ENDING } from './response-head.ts';
import {
  INFORMATIONAL_RESPONSES_MAX,
  informationalResponsesFor,
  RESPONSE_FIELDS_MAX,
  RESPONSE_HEAD_MAX_BYTES,
  type ResponseContext,
  ResponseRelay,
  sendOwn,
} from './response.ts';

const CONTEXT: ResponseContext = {
  method: 'GET',
  minor: 1,
  interims: 'all',
  upgrade: false,
  close: false,
  owner: { staysOpen() {} },
  heldBack: undefined,
  rules: { ending: PLAIN_ENDING, mapField: undefined },
};

/** Relays a response that arrives in the given pieces, and reports the result. */
function relay(pieces: string[], context: Partial<ResponseContext> = {}, statusMax = Infinity) {
  let sent = '';
  const send = (bytes: Buffer): void => void (sent += bytes.toString('latin1'));
  const sink = { send, isFull: false, statusMax, messages: undefined, begin() {} };
  const response = new ResponseRelay({ ...CONTEXT, ...context }, sink);
  const progress = pieces.map((piece) => response.push(Buffer.from(piece, 'latin1')));
  return { response, sent, progress };
}

/** A complete head of this many bytes. */
function responseRelayHead(bytes: number): string {
  return `HTTP/1.1 204 x\r\nX: ${'x'.repeat(bytes - 23)}\r\n\r\n`;
}

describe('ResponseRelay', () => {
  it('passes a response on to its end, and keeps the stream for another', () => {
    const { response, sent, progress } = relay(['HTTP/1.1 200 OK\r\nContent-Le', 'ngth: 5\r\n\r\nhe', 'llo']);
    assert.deepEqual(progress, ['more', 'more', 'done']);
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
    assert.ok(response.reusable && !response.closes);
  });

  it('adds a field that keeps search engines away, on final responses only', () => {
    const pieces = ['HTTP/1.1 103 x\r\nLink: x\r\n\r\nHTTP/1.1 204 x\r\nX-Robots-Tag: all\r\n\r\n'];
    const fields =
      'HTTP/1.1 103 x\r\nLink: x\r\n\r\nHTTP/1.1 204 x\r\nX-Robots-Tag: all\r\nX-Robots-Tag: noindex\r\n';
    const rules = { ending: NOINDEX_ENDING, mapField: undefined };
    assert.equal(relay(pieces, { rules }).sent, `${fields}\r\n`);
    assert.equal(relay(pieces, { rules, close: true }).sent, `${fields}Connection: close\r\n\r\n`);
  });

  for (const [given, expected] of [
    ['max-age=60, must-revalidate', 'max-age=60, must-revalidate'],
    ['public, max-age=60', 'max-age=60'],
    ['PUBLIC , S-MaxAge = 600,max-age=60', 'max-age=60'],
    ['s-maxage=600', undefined],
    ['private="set-cookie, x", max-age=1', 'max-age=1'],
    ['no-cache="public, s-maxage=9"', 'no-cache="public, s-maxage=9"'],
    ['x="a\\"b, public", public', 'x="a\\"b, public"'],
    ['public=1, x', 'x'],
    ['max-age=1, x="public', undefined],
    ['', ''],
  ] as const)
    it(`lets Cache-Control: ${given} allow private caches at most, with an access policy`, () => {
      const rules = { ending: PLAIN_ENDING, mapField: directsNoCache(undefined) };
      const { sent } = relay([`HTTP/1.1 204 x\r\nCache-Control: ${given}\r\ncache-control: public\r\n\r\n`], {
        rules,
      });
      const field = expected === undefined ? '' : `Cache-Control: ${expected}\r\n`;
      assert.equal(sent, `HTTP/1.1 204 x\r\n${field}\r\n`);
    });

  it('refuses a status that the version of HTTP of its visitor does not have', () => {
    const pieces = ['HTTP/1.1 600 x\r\nContent-Length: 0\r\n\r\n'];
    assert.deepEqual(relay(pieces).progress, ['done']);
    const { progress, sent, response } = relay(pieces, {}, 599);
    assert.deepEqual([progress, sent, response.refused.toString()], [['malformed'], '', 'HTTP/1.1 600 x']);
  });

  it('passes on nothing after the response, and does not reuse the stream', () => {
    const { response, sent, progress } = relay(['HTTP/1.1 204 x\r\n\r\nHTTP/1.1 200 smuggled\r\n\r\n']);
    assert.deepEqual(progress, ['done']);
    assert.equal(sent, 'HTTP/1.1 204 x\r\n\r\n');
    assert.ok(!response.reusable);
  });

  it('passes on informational responses: all, only the 100 that the visitor waits for, or none', () => {
    const [proceed, hints] = ['HTTP/1.1 100 x\r\n\r\n', 'HTTP/1.1 103 x\r\nLink: x\r\n\r\n'];
    const final = 'HTTP/1.1 304 x\r\n\r\n';
    const { sent, progress } = relay([proceed + hints, hints + proceed, final]);
    assert.deepEqual(progress, ['more', 'more', 'done']);
    assert.equal(sent, proceed + hints + hints + proceed + final);
    assert.equal(relay([proceed + hints, proceed, final], { interims: 'continue' }).sent, proceed + final);
    assert.equal(relay([proceed + hints, final], { interims: 'none' }).sent, final);
  });

  it('drops an informational response with fields about the end of a message', () => {
    const fields =
      'Content-Length: 0\r\nX: y\r\ntransfer-encoding: chunked\r\nTrailer: z\r\nKeep-Alive: a\r\n';
    for (const status of [100, 102, 103, 199]) {
      assert.equal(
        relay([`HTTP/1.1 ${status} x\r\n${fields}\r\n`]).sent,
        `HTTP/1.1 ${status} x\r\nX: y\r\n\r\n`,
      );
    }
    assert.equal(
      relay([`HTTP/1.1 101 x\r\nUpgrade: websocket\r\n${fields}\r\n`], { upgrade: true }).sent,
      'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nX: y\r\nConnection: Upgrade\r\n\r\n',
    );
  });

  it('accepts 64 informational responses before the final one, but not more', () => {
    for (const interims of ['all', 'none'] as const) {
      const flood = Array<string>(INFORMATIONAL_RESPONSES_MAX).fill('HTTP/1.1 102 x\r\n\r\n');
      assert.ok(relay(flood, { interims }).progress.every((progress) => progress === 'more'));
      const { response, progress } = relay([...flood, 'HTTP/1.1 102 x\r\n\r\n'], { interims });
      assert.deepEqual([progress.at(-1), response.committed], ['malformed', false]);
    }
  });

  it('does not accept a head of more than 500 fields', () => {
    const fields = 'a:\r\n'.repeat(RESPONSE_FIELDS_MAX);
    assert.deepEqual(relay([`HTTP/1.1 204 x\r\n${fields}\r\n`]).progress, ['done']);
    for (const status of [204, 103]) {
      const { sent, progress } = relay([`HTTP/1.1 ${status} x\r\n${fields}b:\r\n\r\n`]);
      assert.deepEqual([progress, sent], [['malformed'], '']);
    }
  });

  it('drops the fields about length and coding if there is no body', () => {
    for (const [status, method, expected] of [
      [204, 'GET', ''],
      [205, 'GET', 'Content-Length: 0\r\n'],
      [304, 'GET', 'Content-Length: 3\r\n'],
      [200, 'HEAD', 'Content-Length: 3\r\n'],
    ] as const) {
      const length = relay([`HTTP/1.1 ${status} x\r\nContent-Length: 3\r\n\r\n`], { method });
      assert.deepEqual([length.progress, length.sent], [['done'], `HTTP/1.1 ${status} x\r\n${expected}\r\n`]);
      const coding = relay([`HTTP/1.1 ${status} x\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n`], {
        method,
      });
      const kept = status === 205 ? expected : '';
      assert.deepEqual([coding.progress, coding.sent], [['done'], `HTTP/1.1 ${status} x\r\n${kept}\r\n`]);
      // The announced body may still arrive.
      const comes = status === 204 || status === 205;
      assert.deepEqual([length.response.reusable, coding.response.reusable], [!comes, !comes]);
    }
    const { sent, response } = relay(['HTTP/1.1 205 x\r\n\r\n']);
    assert.equal(sent, 'HTTP/1.1 205 x\r\nContent-Length: 0\r\n\r\n');
    assert.ok(!response.closes);
  });

  it('closes the connection of a visitor that may omit a body it has announced', () => {
    const bytes = ['HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n'];
    const heldBack = trackBody({ kind: 'length', length: 1 });
    const early = relay(bytes, { heldBack });
    assert.equal(early.sent, 'HTTP/1.1 200 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    assert.ok(early.response.closes);
    heldBack.advance(Buffer.from('x'), 0);
    assert.ok(!relay(bytes, { heldBack }).response.closes);
  });

  it('drops fields about one connection, and announces the end of its own', () => {
    const { response, sent } = relay(
      [
        'HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: x\r\nContent-Length: 0\r\n\r\n',
      ],
      { close: true },
    );
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    assert.ok(!response.reusable && response.closes);
  });

  it('drops fields that a proxy in front would obey, also from informational responses and trailers', () => {
    const steering = [
      'X-Accel-Redirect: /t/other',
      'x-accel-buffering: yes',
      'X-Sendfile: /etc/passwd',
      'X-SENDFILE2: /',
      'Alt-Svc: h3=":443"',
      'X-LIGHTTPD-send-file: /',
      'X-LiteSpeed-Location: /',
      'X-Reproxy-URL: http://10.0.0.1/',
      'X-Envoy-Immediate-Health-Check-Fail: 1',
    ];
    const fields = ['X-A: 1', ...steering, 'X-Accelerate: 1', 'X-Send: 1']
      .map((line) => `${line}\r\n`)
      .join('');
    const kept = 'X-A: 1\r\nX-Accelerate: 1\r\nX-Send: 1\r\n';
    for (const status of [103, 204])
      assert.equal(
        relay([`HTTP/1.1 ${status} x\r\n${fields}\r\n`]).sent,
        `HTTP/1.1 ${status} x\r\n${kept}\r\n`,
      );
    for (const field of steering) {
      const trailers = ['HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', `${field}\r\n\r\n`];
      assert.deepEqual(relay(trailers).progress, ['more', 'broken']);
    }
  });

  it('lets a 426 name the required protocol', () => {
    const { sent } = relay([
      'HTTP/1.1 426 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n',
    ]);
    assert.equal(
      sent,
      'HTTP/1.1 426 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n',
    );
  });

  describe('for a preflight without credentials', () => {
    const rules = { ending: NOINDEX_ENDING, mapField: undefined, isPreflight: true };
    const END = 'X-Robots-Tag: noindex\r\n\r\n';
    const preflight = (pieces: string[], context = {}) =>
      relay(pieces, { method: 'OPTIONS', rules, ...context });

    it('passes on the status and the fields that answer it, and nothing else', () => {
      const fields =
        'access-control-allow-origin: *\r\nVary: Origin\r\nACCESS-CONTROL-ALLOW-METHODS: PUT\r\nAllow: GET\r\n';
      const secrets =
        'Access-Control: x\r\nX-Access-Control-Allow-Origin: x\r\nLocation: /secret\r\nETag: x\r\nUpgrade: x\r\nContent-Type: x\r\nVaryx: x\r\nConnection: vary\r\n';
      for (const [answered, expected] of [
        ['204 secret', '204 No Content'],
        ['426 secret', '426 Upgrade Required\r\nContent-Length: 0'],
        ['299 secret', '299 \r\nContent-Length: 0'],
      ] as const) {
        const [status, ...length] = expected.split('\r\n');
        const { sent, progress, response } = preflight([
          `HTTP/1.1 ${answered}\r\n${secrets.replace('Connection: vary\r\n', '')}${fields}Content-Length: 0\r\n\r\n`,
        ]);
        const lines = length.map((line) => `${line}\r\n`).join('');
        assert.equal(sent, `HTTP/1.1 ${status}\r\n${fields}${lines}${END}`);
        assert.deepEqual([progress, response.reusable, response.isWithheld], [['done'], true, false]);
      }
      const { sent } = preflight([`HTTP/1.1 204 x\r\n${secrets}Vary: Origin\r\n\r\n`]);
      assert.equal(sent, `HTTP/1.1 204 No Content\r\n${END}`);
    });

    it('passes on no body, whatever its framing, and reuses no stream that may still deliver one', () => {
      for (const answer of [
        'HTTP/1.1 200 x\r\nContent-Length: 6\r\n\r\nsecret',
        'HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsecret\r\n0\r\nX-Secret: 1\r\n\r\n',
        'HTTP/1.1 200 x\r\n\r\nsecret',
        'HTTP/1.0 200 x\r\n\r\nsecret',
      ]) {
        for (const pieces of [[answer], Array.from(answer)]) {
          const { sent, response } = preflight(pieces.slice(0, pieces.findLastIndex((p) => p === '\r') + 2));
          assert.ok(!sent.includes('secret') && sent.endsWith(`Content-Length: 0\r\n${END}`), sent);
          assert.deepEqual([response.reusable, response.isWithheld, response.closes], [false, true, false]);
        }
      }
    });

    it('passes on no informational response', () => {
      const { sent } = preflight(['HTTP/1.1 103 x\r\nLink: secret\r\n\r\nHTTP/1.1 204 x\r\n\r\n']);
      assert.equal(sent, `HTTP/1.1 204 No Content\r\n${END}`);
    });

    it('rejects a head that could be read in two ways', () => {
      const both = 'HTTP/1.1 200 x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n';
      assert.deepEqual(preflight([both]).progress, ['malformed']);
    });
  });

  it('ends a response without a length with the connection', () => {
    const { response, sent, progress } = relay(['HTTP/1.0 200 OK\r\n\r\nabc', 'def']);
    assert.deepEqual(progress, ['more', 'more']);
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcdef');
    assert.ok(response.completedByEnd(true) && !response.completedByEnd(false));
    assert.ok(response.closes && response.endsWithConnection);
  });

  it('removes the chunked coding for HTTP/1.0', () => {
    const pieces = [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
      '2\r\nde\r\n0\r\n\r\n',
    ];
    const { sent, progress } = relay(pieces, { minor: 0, close: true });
    assert.deepEqual(progress, ['more', 'done']);
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde');
  });

  it('switches to a WebSocket only on request', () => {
    const pieces = ['HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nframe'];
    const { sent, progress } = relay(pieces, { upgrade: true });
    assert.deepEqual(progress, ['switched']);
    assert.equal(sent, 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nframe');
    assert.deepEqual(relay(pieces).progress, ['malformed']);
    assert.deepEqual(relay(['HTTP/1.1 101 x\r\nUpgrade: h2c\r\n\r\n'], { upgrade: true }).progress, [
      'malformed',
    ]);
  });

  it('does not reuse a stream after a refused upgrade', () => {
    const { response, progress } = relay(['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'], { upgrade: true });
    assert.deepEqual(progress, ['done']);
    assert.ok(!response.reusable && !response.closes);
  });

  it('rejects a head above 64 KiB, and passes on no part of it', () => {
    assert.deepEqual(relay([responseRelayHead(RESPONSE_HEAD_MAX_BYTES)]).progress, ['done']);
    assert.deepEqual(relay([responseRelayHead(RESPONSE_HEAD_MAX_BYTES + 1)]).progress, ['malformed']);
    assert.deepEqual(relay([responseRelayHead(RESPONSE_HEAD_MAX_BYTES + 1).slice(0, -3)]).progress, ['more']);
    assert.deepEqual(relay([responseRelayHead(RESPONSE_HEAD_MAX_BYTES + 9).slice(0, -3)]).progress, [
      'malformed',
    ]);
  });

  describe('of what services send', () => {
    const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const CHUNKED = `${HEAD}5\r\nhello\r\n0\r\n\r\n`;
    const ACCEPTED: readonly (readonly [what: string, sent: string, passed: string])[] = [
      [
        'LF alone',
        'HTTP/1.1 200 OK\nContent-Length: 2\n\nok',
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      ],
      ['LF at some ends', 'HTTP/1.1 204 x\r\nA: b\nC: d\r\n\n', 'HTTP/1.1 204 x\r\nA: b\r\nC: d\r\n\r\n'],
      ['an empty line of CRLF behind LF', 'HTTP/1.1 204\n\r\n', 'HTTP/1.1 204 \r\n\r\n'],
      [
        'LF in an interim response',
        'HTTP/1.1 103 x\n\nHTTP/1.1 204 x\n\n',
        'HTTP/1.1 103 x\r\n\r\nHTTP/1.1 204 x\r\n\r\n',
      ],
      ['LF in a chunked body', `${HEAD}5\nhello\n0\n\n`, CHUNKED],
      ['blanks behind chunk sizes', `${HEAD}5  \r\nhello\r\n0 \t\r\n\r\n`, CHUNKED],
      ['extensions of chunks', `${HEAD}5;a="b\\"" ; c\r\nhello\r\n0;x\r\n\r\n`, CHUNKED],
      ['LF in trailers', `${HEAD}0\r\nA: b\nC: d\r\n\n`, `${HEAD}0\r\nA: b\r\nC: d\r\n\r\n`],
      [
        'one length twice',
        'HTTP/1.1 200 x\r\nContent-Length: 2\r\nA: b\r\ncontent-length:2 \r\n\r\nok',
        'HTTP/1.1 200 x\r\nContent-Length: 2\r\nA: b\r\n\r\nok',
      ],
      [
        'one length as a list',
        'HTTP/1.1 304 x\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\n',
        'HTTP/1.1 304 x\r\nContent-Length: 2\r\n\r\n',
      ],
      [
        'a status above 599',
        'HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n',
        'HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n',
      ],
    ];
    for (const [what, sent, passed] of ACCEPTED) {
      it(`accepts ${what}, and reframes it, in any pieces`, () => {
        for (const pieces of [[sent], Array.from(sent)]) {
          const relayed = relay(pieces);
          assert.deepEqual([relayed.sent, relayed.progress.at(-1)], [passed, 'done']);
        }
      });
    }

    const CL = 'Content-Length: ';
    const REFUSED: readonly (readonly [sent: string, line: string])[] = [
      ['HTTP/1.1 200 x\r\nA: b\rC: d\r\n\r\n', 'A: b\rC: d'],
      ['HTTP/1.1 200 x\r\nA: b\r\r\n\r\n', 'A: b\r'],
      ['HTTP/1.1 200 x\n\r\r\n\r\n', '\r'],
      ['HTTP/1.1 200 x\nA: b\n c\n\n', ' c'],
      ['HTTP/1.1 200 x\r\nA : b\r\n\r\n', 'A : b'],
      ['HTTP/1.1 200 x\r\nA: \0\r\n\r\n', 'A: \0'],
      ['HTTP/1.1 200 x\r\n: b\r\n\r\n', ': b'],
      ['HTTP/1.1 20 x\r\n\r\n', 'HTTP/1.1 20 x'],
      ['HTTP/1.2 200 x\r\n\r\n', 'HTTP/1.2 200 x'],
      ['ICY 200 OK\r\n', 'ICY 200 OK'],
      [`HTTP/1.1 200 x\n${CL}1\n${CL}2\n\n`, `${CL}2`],
      [`HTTP/1.1 200 x\n${CL}1, 2\n\n`, `${CL}1, 2`],
      [`HTTP/1.1 200 x\n${CL}1,\n\n`, `${CL}1,`],
      [`HTTP/1.1 200 x\n${CL}+1\n${CL}+1\n\n`, `${CL}+1`],
      [`HTTP/1.1 200 x\n${CL}1\nTransfer-Encoding: chunked\n\n`, 'Transfer-Encoding: chunked'],
      ['HTTP/1.1 200 x\nTransfer-Encoding: gzip, chunked\n\n', 'Transfer-Encoding: gzip, chunked'],
      [
        'HTTP/1.1 200 x\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n',
        'Transfer-Encoding: chunked',
      ],
      ['HTTP/1.0 200 x\nTransfer-Encoding: chunked\n\n', 'Transfer-Encoding: chunked'],
      [`${HEAD} 5\r\nhello`, ' 5'],
      [`${HEAD}5\r5\r\nhello`, '5\r5\r'],
      [`${HEAD}5;a="\nhello`, '5;a="'],
      [`${HEAD}5 5\r\nhello`, '5 5'],
      [`${HEAD}0\nContent-Length: 1\n\n`, `${CL}1`],
    ];
    for (const [sent, line] of REFUSED) {
      it(`refuses ${JSON.stringify(sent)}, and names the line`, () => {
        const { response, progress, sent: passed } = relay([sent]);
        assert.deepEqual(
          [progress.at(-1), response.refused.toString('latin1'), passed],
          ['malformed', line, ''],
        );
      });
    }

    for (const [sent, passed] of [
      [`${HEAD}1\r\na\r\n`, '5\rx'],
      [`${HEAD}1\r\na`, '\rx'],
      [`${HEAD}1\r\na`, 'x'],
    ] as const) {
      it(`breaks off after ${JSON.stringify(sent)} and ${JSON.stringify(passed)}`, () => {
        assert.deepEqual(relay([sent, passed]).progress, ['more', 'broken']);
      });
    }
  });

  it('detects an invalid response, before and after its head was passed on', () => {
    for (const broken of [
      'nonsense\r\n\r\n',
      'SSH-2.0-x',
      'HTTP/2 200\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ]) {
      const { response, sent, progress } = relay([broken]);
      assert.deepEqual([progress, sent, response.committed], [['malformed'], '', false]);
    }
    const late = relay(['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n', 'zz\r\n']);
    assert.deepEqual(late.progress, ['more', 'broken']);
    assert.ok(late.response.committed);
  });
});

function interimsInterims(method: string, minor: 0 | 1, trusted: boolean, expectsContinue: boolean) {
  const head = parseRequestHead(Buffer.from(`${method} / HTTP/1.${minor}\r\n\r\n`), { target: 9, fields: 9 });
  assert.ok(typeof head === 'object');
  return informationalResponsesFor({ head, expectsContinue }, { trusted });
}

describe('informationalResponsesFor', () => {
  it('sends visitors all, but none in response to HEAD, because a proxy may mistake one for the final response', () => {
    assert.equal(interimsInterims('GET', 1, false, false), 'all');
    assert.equal(interimsInterims('POST', 1, false, true), 'all');
    assert.equal(interimsInterims('HEAD', 1, false, false), 'none');
  });

  it('sends a trusted proxy only the 100 that it waits for', () => {
    assert.equal(interimsInterims('GET', 1, true, false), 'none');
    assert.equal(interimsInterims('POST', 1, true, true), 'continue');
  });

  it('sends HTTP/1.0 none', () => {
    assert.equal(interimsInterims('GET', 0, false, false), 'none');
    assert.equal(interimsInterims('GET', 0, true, false), 'none');
  });
});

function listOf(fields: readonly MessageField[]): string {
  return fields.map(({ name, value }) => `${name}=${value}`).join(' ');
}

/** Hands over a response that arrives in the given pieces, and reports what was taken and the result. */
function handOver(pieces: readonly string[], context: Partial<ResponseContext> = {}) {
  const taken: string[] = [];
  const messages = {
    begin: (status: number, fields: readonly MessageField[]) =>
      void taken.push(`${status} ${listOf(fields)}`),
    finish: (trailers: readonly MessageField[]) => void taken.push(`end ${listOf(trailers)}`),
  };
  const send = (bytes: Buffer): void => void taken.push(bytes.toString('latin1'));
  const sink = { send, isFull: false, statusMax: 599, messages, begin: messages.begin };
  const response = new ResponseRelay({ ...CONTEXT, ...context }, sink);
  const progress = pieces.map((piece) => response.push(Buffer.from(piece, 'latin1')));
  return { taken, response, progress: progress.at(-1) };
}

describe('a response that is handed over as a message', () => {
  it('has the fields of the response except those of HTTP/1.1, and its content without chunks', () => {
    const { taken, progress } = handOver([
      'HTTP/1.1 103 x\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nKeep-Alive: a\r\nX-Y:  a b \r\n',
      'Connection: z\r\nZ: 1\r\nTE: x\r\n\r\n2\r\nab\r\n1',
      '\r\nc\r\n1\r\nd\r\n0\r\nGrpc-Status: 0\r\n\r\n',
    ]);
    assert.deepEqual(
      [taken, progress],
      [['103 link=x', '200 x-y=a b', 'ab', 'cd', 'end grpc-status=0'], 'done'],
    );
  });

  it('has the fields that the relay adds, and those that it has changed', () => {
    const rules = { ending: NOINDEX_ENDING, mapField: (field: Field) => (field.is('a') ? ' b\t' : field) };
    const answer = 'HTTP/1.1 205 x\r\nA: 1\r\nC: 2\r\n\r\n';
    assert.deepEqual(handOver([answer], { rules }).taken, [
      '205 a=b c=2 content-length=0 x-robots-tag=noindex',
      'end ',
    ]);
  });

  it('ends with its stream if it has no length, but not if that breaks off', () => {
    const { taken, response } = handOver(['HTTP/1.0 200 OK\r\n\r\na']);
    assert.equal(response.completedByEnd(false), false);
    assert.deepEqual(taken, ['200 ', 'a']);
    assert.equal(response.completedByEnd(true), true);
    assert.deepEqual(taken, ['200 ', 'a', 'end ']);
  });

  it('is not begun if its first bytes are malformed', () => {
    const { taken, progress } = handOver(['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n']);
    assert.deepEqual([taken, progress], [[], 'malformed']);
  });

  it('is not ended if it breaks off in a chunk', () => {
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n';
    const { taken, progress } = handOver([chunked, 'zz\r\n']);
    assert.deepEqual([taken, progress], [['200 ', 'a'], 'broken']);
  });

  for (const [what, accept, progress] of [
    ['that accepts it', 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=', 'switched'],
    ['that accepts another', 's3pPLMBiTxaQ9kYGzzhZRbK+xOp=', 'malformed'],
  ] as const)
    it(`opens a WebSocket with a key of the relay only after a response ${what}`, () => {
      const answer = `HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\nA: b\r\n\r\nhi`;
      const context = { upgrade: true, webSocketKey: 'dGhlIHNhbXBsZSBub25jZQ==' };
      const result = handOver([answer], context);
      assert.deepEqual(
        [result.progress, result.taken],
        [progress, progress === 'switched' ? ['101 a=b', 'hi'] : []],
      );
    });

  it('opens no WebSocket without a response that accepts it', () => {
    const context = { upgrade: true, webSocketKey: 'dGhlIHNhbXBsZSBub25jZQ==' };
    assert.deepEqual(handOver(['HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n'], context).taken, []);
  });

  it('of the relay itself has its fields, with any bytes in them', () => {
    const taken: unknown[] = [];
    const messages = {
      begin: (...head: readonly unknown[]) => void taken.push(head),
      finish: () => void taken.push('end'),
    };
    const sink = { send: (bytes: Buffer) => void taken.push(String(bytes)), isFull: false, statusMax: 599 };
    const own = reply({ status: 200, fields: 'Location: /\xe9\r\n', contentType: 'a/b', body: 'é' });
    sendOwn({ ...sink, messages, begin: messages.begin }, own, true);
    const date = /Date: (.*)\r\n/.exec(own.lines)?.[1];
    assert.deepEqual(taken, [
      [
        200,
        [
          { name: 'content-type', value: 'a/b' },
          { name: 'content-length', value: '2' },
          { name: 'cache-control', value: 'no-store' },
          { name: 'location', value: '/\xe9' },
          { name: 'date', value: date },
        ],
      ],
      'é',
      'end',
    ]);
  });
});

import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { API_ERRORS } from '../../../shared/errors.ts';
import { closeServers, startTcp, startTls } from '../../testing/servers.ts';
import { textOf } from '../messages.ts';
import { Network } from '../network/network.ts';
import {
  readErrorBody,
  readValues,
  readRefusal,
  readRetryAfter,
  refusesKey,
  describeReachError,
  speaksTls,
  TLS_PROBE_TIMEOUT_MS,
} from './errors.ts';
import { parseRelayAddress } from './relay-address.ts';

describe('a certificate that is not valid at this time', () => {
  afterEach(closeServers);

  for (const [code, aheadMinutes, expected] of [
    ['CERT_HAS_EXPIRED', 0, /^its certificate has expired$/],
    [
      'CERT_HAS_EXPIRED',
      -90,
      /^its certificate has expired, but .* clock is 90 minutes ahead of the relay's/,
    ],
    ['CERT_NOT_YET_VALID', 60 * 30, /^its certificate is not valid yet, but .* clock is 30 hours behind/],
    ['CERT_NOT_YET_VALID', 60 * 24 * 365, /is 365 days behind the relay's: check the date and time/],
    ['ECONNRESET', 60, /^the connection was reset$/],
    ['CERT_HAS_EXPIRED', undefined, /^its certificate has expired$/],
  ] as const)
    it(`${code} is compared with a clock that is ${aheadMinutes} minutes ahead`, async () => {
      const date = aheadMinutes !== undefined && new Date(Date.now() + aheadMinutes * 60_000).toUTCString();
      const said = date === false ? '' : `HTTP/1.1 200 OK\r\nDate: ${date}\r\nContent-Length: 0\r\n\r\n`;
      const port = await startTls((socket) => socket.once('data', () => socket.end(said)));
      const relay = parseRelayAddress(`https://127.0.0.1:${port}`);
      const error = Object.assign(new Error(code), { code });
      assert.match(textOf(await describeReachError(error, new Network(), relay)), expected);
    });
});

describe('readErrorBody', () => {
  const cases: [error: unknown, text: string][] = [
    ['name already in use', 'name already in use'],
    // A terminal would obey control characters.
    ['a\u001b[2Jb\r\nc\u009bd\u202ee', 'a [2Jb  c d e'],
    // More may follow the text.
    ['port 3000 ??', 'port 3000'],
    ['Wait.', 'Wait'],
    ['x'.repeat(5000), 'x'.repeat(300)],
  ];
  for (const [error, text] of cases)
    it(`reads ${JSON.stringify(text)}`, () =>
      assert.deepEqual(readErrorBody(JSON.stringify({ error })), { text, code: undefined }));

  for (const [code, expected] of [
    ['name-taken', 'name-taken'],
    [1, undefined],
  ])
    it(`reads the code ${code} as ${expected}`, () =>
      assert.equal(readErrorBody(JSON.stringify({ error: 'x', code }))?.code, expected));

  for (const body of ['', '<html>', 'null', '[]', '{}', '{"error":1}', '{"error":""}', '{"error":"??"}']) {
    it(`returns nothing for ${JSON.stringify(body)}`, () => assert.equal(readErrorBody(body), undefined));
  }
});

describe('the values of an error', () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`v${'_'.repeat(index)}`, 1]));
  const values: readonly (readonly [given: unknown, read: object])[] = [
    [
      { plan: 'Dev', number: 5 },
      { plan: 'Dev', number: 5 },
    ],
    [
      { a: 'x\u001b[2J\r\ny', b: 'z'.repeat(5000), c: '\ud800' },
      { a: 'x [2J  y', b: 'z'.repeat(300), c: '\ufffd' },
    ],
    [{ list: [1], object: {}, flag: true, none: null, 'not-a-name': 'x', ['n'.repeat(33)]: 1 }, {}],
    [many, Object.fromEntries(Object.entries(many).slice(0, 16))],
    ['text', {}],
    [null, {}],
    [['a'], {}],
  ];
  for (const [given, read] of values)
    it(`reads the values ${JSON.stringify(given).slice(0, 60)}`, () =>
      assert.deepEqual(readValues(JSON.stringify(given)), read));

  it('takes no prototype for values', () =>
    assert.deepEqual(readValues('{"__proto__":"x","constructor":1}'), { constructor: 1 }));

  for (const field of [undefined, '', '{', ['{}']])
    it(`reads none from ${JSON.stringify(field)}`, () => assert.deepEqual(readValues(field), {}));
});

describe('a refusal of the key', () => {
  const { text: error, code } = API_ERRORS.invalidKey;
  const cases: [title: string, body: object, isRefused: boolean, status?: number, challenge?: string][] = [
    ['is known by its code, whatever the text', { error: 'this key is not known', code }, true],
    ['is known by its text if there is no code', { error }, true],
    ['is none with another code', { error, code: 'missing-key' }, false],
    ['is none with another text and no code', { error: 'no' }, false],
    ['is none without a text', {}, false],
    ['requires the challenge of the relay', { error, code }, false, 401, ''],
    ['is none with another challenge', { error, code }, false, 401, 'Basic realm="x"'],
    ['requires the status 401', { error, code }, false, 403],
  ];
  for (const [title, body, isRefused, status = 401, challenge = 'Bearer'] of cases)
    it(title, () => {
      const headers = challenge === '' ? {} : { 'www-authenticate': challenge };
      assert.equal(refusesKey(readRefusal(status, headers, JSON.stringify(body), 0)), isRefused);
    });
});

describe('readRetryAfter', () => {
  const now = Date.parse('2026-07-10T12:00:00Z');
  const cases: [string | null, number | undefined][] = [
    ['0', 0],
    ['12', 12_000],
    ['Fri, 10 Jul 2026 12:00:30 GMT', 30_000],
    ['Fri, 10 Jul 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    [null, undefined],
  ];
  for (const [value, ms] of cases) {
    it(`reads ${value ?? 'no field'} as ${ms} ms`, () => assert.equal(readRetryAfter(value, now), ms));
  }
});

describe('sayReachError', () => {
  it('reports that a relay did not answer in time, for an error whose code is a number', async () => {
    const error = new DOMException('aborted', 'TimeoutError');
    const relay = parseRelayAddress('http://relay.test');
    assert.equal(textOf(await describeReachError(error, new Network(), relay)), 'it did not respond in time');
  });
});

const at = (port: number) => ({ secure: false, hostname: '127.0.0.1', port, host: `127.0.0.1:${port}` });

describe('speaksTls', () => {
  afterEach(() => {
    mock.timers.reset();
    closeServers();
  });

  it('recognises TLS, with any certificate, and other protocols', async () => {
    assert.equal(await speaksTls(at(await startTls(() => {}))), true);
    const port = await startTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    assert.equal(await speaksTls(at(port)), false);
  });

  // The record claims to have 16 KiB.
  for (const [what, said] of [
    ['nothing', ''],
    ['a part of a TLS record', '\x16\x03\x03\x40\x00\x02'],
  ] as const)
    it(`gives up after 2 s on a server that sends ${what}`, async () => {
      mock.timers.enable({ apis: ['setTimeout'] });
      const asked = Promise.withResolvers<void>();
      const port = await startTcp((socket) =>
        socket.write(Buffer.from(said, 'latin1'), () => socket.once('data', () => asked.resolve())),
      );
      let answer: boolean | undefined;
      const probed = speaksTls(at(port)).then((result) => (answer = result));
      await asked.promise;
      mock.timers.tick(TLS_PROBE_TIMEOUT_MS - 1);
      await turn();
      assert.equal(answer, undefined);
      mock.timers.tick(1);
      await probed;
      assert.equal(answer, false);
    });
});

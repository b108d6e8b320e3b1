import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { systemClock } from '../clock.ts';
import { textOf } from '../messages.ts';
import { checkEdit, composeRequest, ImportRefused } from './edit.ts';
import { exportHar, type Har, HAR_MAX_BYTES, importHar } from './har.ts';
import { addImported, importText } from './import-text.ts';
import { trimBlanks } from './records.ts';
import { RequestLog } from './request-log.ts';

const ORIGIN = 'https://demo.example.com';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

function logOf(request: string | Buffer, response: string | Buffer = OK): RequestLog {
  const log = new RequestLog({ ...systemClock, now: () => Date.UTC(2026, 0, 2), monotonic: () => 5 });
  const recording = log.open();
  recording.toLocal(Buffer.from(request));
  recording.toVisitor(Buffer.from(response));
  return log;
}

async function exported(log: RequestLog, reveal = false, id = 1): Promise<Har> {
  const detail = log.detail(id, { reveal }) ?? assert.fail('the request was not recorded');
  return JSON.parse(JSON.stringify(await exportHar([id], () => Promise.resolve(detail), ORIGIN))) as Har;
}

function entry(change: object, response?: object): string {
  const request = { method: 'GET', url: 'http://x/', headers: [], ...change };
  return JSON.stringify({ log: { entries: [{ request, response }] } });
}

describe('an exported HAR', () => {
  it('describes the exchanges in HAR 1.2', async () => {
    const log = logOf(
      'POST /a?x=1&y=%20 HTTP/1.1\r\nHost: demo.example.com\r\nCookie: a=1; b=2\r\n' +
        'Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{"ä":1',
      'HTTP/1.1 302 Moved Away\r\nLocation: /b\r\nSet-Cookie: c=3; Path=/\r\nContent-Length: 2\r\n\r\nno',
    );
    const { log: har } = await exported(log, true);
    assert.deepEqual([har.version, har.creator.name, har.comment], ['1.2', 'Culvert', undefined]);
    const [only] = har.entries;
    assert.equal(only?.startedDateTime, '2026-01-02T00:00:00.000Z');
    assert.deepEqual(only.request, {
      method: 'POST',
      url: 'https://demo.example.com/a?x=1&y=%20',
      httpVersion: 'HTTP/1.1',
      cookies: [
        { name: 'a', value: '1' },
        { name: 'b', value: '2' },
      ],
      headers: [
        { name: 'Host', value: 'demo.example.com' },
        { name: 'Cookie', value: 'a=1; b=2' },
        { name: 'Content-Type', value: 'application/json' },
        { name: 'Content-Length', value: '7' },
      ],
      queryString: [
        { name: 'x', value: '1' },
        { name: 'y', value: ' ' },
      ],
      postData: { mimeType: 'application/json', text: '{"ä":1' },
      headersSize: -1,
      bodySize: 7,
    });
    const { status, statusText, redirectURL, cookies, content } = only.response;
    assert.deepEqual([status, statusText, redirectURL], [302, 'Moved Away', '/b']);
    assert.deepEqual(cookies, [{ name: 'c', value: '3' }]);
    assert.deepEqual(content, { size: 2, mimeType: 'application/octet-stream', text: 'no' });
  });

  it('has no secrets unless requested, and notes that', async () => {
    const log = logOf(
      'GET /?token=s3cret HTTP/1.1\r\nAuthorization: Bearer s3cret\r\nCookie: sid=s3cret\r\n\r\n',
    );
    const hidden = await exported(log);
    assert.doesNotMatch(JSON.stringify(hidden), /s3cret/);
    assert.match(hidden.log.comment ?? '', /replaced by \[redacted\]/);
    // In the address, the query, two headers, and the list of cookies.
    assert.equal(JSON.stringify(await exported(log, true)).match(/s3cret/g)?.length, 5);
  });

  it('has bodies as text or in base64, without content coding if they are shown decoded', async () => {
    const log = logOf(
      Buffer.concat([Buffer.from('POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n'), Buffer.from([0, 0xff, 1])]),
      Buffer.concat([
        Buffer.from('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n'),
        gzipSync('{"a":1}'),
      ]),
    );
    const [only] = (await exported(log)).log.entries;
    assert.deepEqual(only?.request.postData, {
      mimeType: 'application/octet-stream',
      text: 'AP8B',
      _encoding: 'base64',
    });
    assert.equal(only.response.content.text, '{"a":1}');
  });

  it('leaves out what is gone, and is limited to 32 MiB', async () => {
    const detail = logOf('GET /?token=s3cret HTTP/1.1\r\n\r\n').detail(1) ?? assert.fail();
    const body = new Uint8Array(1024 * 1024).fill(0x61);
    const large = { ...detail, request: { ...detail.request, body } };
    const ids = Array.from({ length: HAR_MAX_BYTES / body.length }, (_, index) => index + 1);
    await assert.rejects(
      exportHar(ids, () => Promise.resolve(large), ORIGIN),
      /at most 32 MiB, and only the first 31/,
    );
    const all = await exportHar(ids, (id) => Promise.resolve(id === 1 ? undefined : large), ORIGIN);
    assert.equal(all.log.entries.length, 31);
  });

  it('marks bodies that were cut, and requests without a response', async () => {
    const log = new RequestLog();
    log
      .open()
      .toLocal(Buffer.from(`POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`));
    const [only] = (await exported(log)).log.entries;
    assert.equal(only?.request.postData?.['_truncated'], true);
    assert.match(only.request.postData.comment ?? '', /rest of this body/);
    assert.deepEqual([only.request.bodySize, only.response.status, only.response.content.size], [-1, 0, 0]);
  });
});

describe('an imported HAR', () => {
  it('equals the exported request and response, with any content', async () => {
    const value = fc.string({ unit: 'binary-ascii', maxLength: 10 }).map((text) => trimBlanks(text));
    const edits = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PURGE'),
      target: fc.stringMatching(/^\/[!-"$-~]{0,12}$/),
      fields: fc.array(fc.tuple(fc.stringMatching(/^X-[A-Za-z\d-]{1,6}$/), value), { maxLength: 4 }),
      body: fc.oneof(
        fc.uint8Array({ maxLength: 20 }),
        fc.string().map((text) => new TextEncoder().encode(text)),
      ),
    });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(edits, fc.uint8Array({ maxLength: 20 }), async (edit, answer) => {
        if (checkEdit(edit).length > 0) return;
        count += 1;
        const head = `HTTP/1.1 201 Made\r\nX-Y: z\r\nContent-Length: ${edit.method === 'HEAD' ? 0 : answer.length}\r\n\r\n`;
        const content = edit.method === 'HEAD' ? new Uint8Array() : answer;
        const log = logOf(
          composeRequest(edit, 'demo.example.com'),
          Buffer.concat([Buffer.from(head), content]),
        );
        const [again] = importHar(JSON.stringify(await exported(log, true)));
        assert.ok(again?.response);
        const { response, ...request } = again;
        assert.deepEqual(
          { ...request, body: [...request.body] },
          { ...edit, body: [...edit.body], isCut: false },
        );
        assert.deepEqual(
          { ...response, body: [...response.body] },
          {
            status: 201,
            reason: 'Made',
            fields: [['X-Y', 'z']],
            body: [...content],
            isCut: false,
            durationMs: 0,
          },
        );
        const number = addImported(log, again, 'demo.example.com');
        assert.deepEqual(
          (await exported(log, true, number)).log.entries,
          (await exported(log, true)).log.entries,
          'what is imported is exported as it was',
        );
      }),
      { numRuns: 300 },
    );
    assert.ok(count > 50, `${count} requests`);
  });

  it('may come from a browser: HTTP/2, forms with parameters, entries without a response', () => {
    const [request] = importHar(
      entry(
        {
          method: 'POST',
          url: 'https://shop.example/pay?ä#part',
          headers: [
            { name: ':method', value: 'POST' },
            { name: 'content-length', value: '3' },
            { name: 'accept', value: '*/*' },
          ],
          postData: { mimeType: 'application/x-www-form-urlencoded', params: [{ name: 'a', value: 'b c' }] },
        },
        { status: 0, content: {} },
      ),
    );
    assert.deepEqual(
      { ...request, body: Buffer.from(request?.body ?? []).toString() },
      {
        method: 'POST',
        target: '/pay?%C3%A4',
        fields: [['accept', '*/*']],
        body: 'a=b+c',
        isCut: false,
        response: undefined,
      },
    );
  });

  it('is rejected with place and reason when it is something else', () => {
    for (const [text, reason] of [
      ['{', /not JSON/],
      ['[]', /: log is not of type object\.$/],
      ['{}', /: log\.entries is missing\.$/],
      ['{"log":{}}', /: log\.entries is missing\.$/],
      ['{"log":{"entries":[1]}}', /: log\.entries\[0\] is not of type object\.$/],
      [entry({ method: 1 }), /: log\.entries\[0\]\.request\.method is not of type string\.$/],
      [
        entry({ headers: [{ name: 'x' }] }),
        /: log\.entries\[0\]\.request\.headers\[0\]\.value is missing\.$/,
      ],
    ] as const)
      assert.throws(
        () => [...importHar(text)],
        (error) => error instanceof ImportRefused && reason.test(error.message),
        text,
      );
  });

  it('leaves out what cannot be sent, with a reason', async () => {
    const entries = [
      {},
      { headers: [{ name: 'X', value: 'a\r\nHost: evil' }] },
      { method: 'POST', postData: { text: 'x'.repeat(300_000) } },
    ].map((change, at) => ({
      request: { method: 'GET', url: `http://x/${at + 1}`, headers: [], ...change },
    }));
    const text = JSON.stringify({ log: { entries } });
    const { requests, leftOut } = await importText(`\uFEFF ${text}`);
    assert.deepEqual(
      requests.map(({ target }) => target),
      ['/1'],
    );
    assert.deepEqual(leftOut.map(textOf), [
      'Request 2 was left out: The value of X cannot contain a line break.',
      'Request 3 was left out: The body can be at most 256 KiB. This one is 293 KiB.',
    ]);
  });
});

describe('an imported request in the log', () => {
  it('appears with its response, and was not sent', () => {
    const log = new RequestLog();
    const fields = [
      ['X', 'a\r\nSet-Cookie: b'],
      ['X-B', 'c'],
    ] as const;
    const body = Buffer.from('hi');
    const response = { status: 200, reason: 'OK\r\nX: 1', fields, body, isCut: false, durationMs: 12 };
    const request = { method: 'GET', target: '/x', fields: [], body: new Uint8Array(), isCut: false };
    assert.equal(addImported(log, { ...request, response }, 'demo.example.com'), 1);
    const detail = log.detail(1);
    assert.deepEqual(
      [detail?.status, detail?.durationMs, detail?.isImported, detail?.isBroken],
      [200, 12, true, false],
    );
    assert.equal(detail?.response?.startLine, 'HTTP/1.1 200 OKX: 1');
    assert.deepEqual(detail.response.fields, [
      ['X-B', 'c'],
      ['Content-Length', '2'],
    ]);
    assert.equal(addImported(log, { ...request, response: undefined }, 'demo.example.com'), 2);
    const [unsent] = log.list();
    assert.deepEqual([unsent?.status, unsent?.durationMs, unsent?.bytesOut], [undefined, 0, 0]);
    assert.deepEqual(log.pulse, [], 'no visitor has come');
  });

  it('is marked as cut if it was', () => {
    const log = new RequestLog();
    const body = Buffer.from('half');
    addImported(
      log,
      { method: 'POST', target: '/', fields: [], body, isCut: true, response: undefined },
      'x',
    );
    assert.equal(log.detail(1)?.request.isTruncated, true);
  });
});

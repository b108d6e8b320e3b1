import assert from 'node:assert/strict';
import { RESPONSE_HEAD_MAX_BYTES } from '../limits.ts';
import { NOINDEX_ENDING, PLAIN_ENDING } from './response-head.ts';
import { type ResponseContext, ResponseRelay } from './response-relay.ts';

const CONTEXT: ResponseContext = {
  method: 'GET',
  minor: 1,
  upgrade: false,
  close: false,
  ending: PLAIN_ENDING,
};

/** Relays a response that comes in the pieces given, and tells what became of it. */
function relay(pieces: string[], context: Partial<ResponseContext> = {}) {
  let sent = '';
  const response = new ResponseRelay({ ...CONTEXT, ...context }, (bytes) => {
    sent += bytes.toString('latin1');
  });
  const progress = pieces.map((piece) => response.push(Buffer.from(piece, 'latin1')));
  return { response, sent, progress };
}

/** A complete head of that many bytes. */
function head(bytes: number): string {
  return `HTTP/1.1 204 x\r\nX: ${'x'.repeat(bytes - 23)}\r\n\r\n`;
}

describe('ResponseRelay', () => {
  it('passes a response on to its end, and keeps the stream for another', () => {
    const { response, sent, progress } = relay(['HTTP/1.1 200 OK\r\nContent-Le', 'ngth: 5\r\n\r\nhe', 'llo']);
    assert.deepEqual(progress, ['more', 'more', 'done']);
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
    assert.ok(response.reusable && !response.closes);
  });

  it('says beside the fields of the service that search engines may not show it, on final responses alone', () => {
    const pieces = ['HTTP/1.1 103 x\r\nLink: x\r\n\r\nHTTP/1.1 204 x\r\nX-Robots-Tag: all\r\n\r\n'];
    const fields =
      'HTTP/1.1 103 x\r\nLink: x\r\n\r\nHTTP/1.1 204 x\r\nX-Robots-Tag: all\r\nX-Robots-Tag: noindex\r\n';
    const ending = NOINDEX_ENDING;
    assert.equal(relay(pieces, { ending }).sent, `${fields}\r\n`);
    assert.equal(relay(pieces, { ending, close: true }).sent, `${fields}Connection: close\r\n\r\n`);
  });

  it('passes nothing on that comes behind the response, nor uses the stream again', () => {
    const { response, sent, progress } = relay(['HTTP/1.1 204 x\r\n\r\nHTTP/1.1 200 smuggled\r\n\r\n']);
    assert.deepEqual(progress, ['done']);
    assert.equal(sent, 'HTTP/1.1 204 x\r\n\r\n');
    assert.ok(!response.reusable);
  });

  it('passes interim responses on, but not to HTTP/1.0', () => {
    const pieces = [
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n',
      'HTTP/1.1 304 x\r\n\r\n',
    ];
    const { sent, progress } = relay(pieces);
    assert.deepEqual(progress, ['more', 'done']);
    assert.equal(sent, pieces.join(''));
    assert.equal(
      relay(pieces, { minor: 0, close: true }).sent,
      'HTTP/1.1 304 x\r\nConnection: close\r\n\r\n',
    );
  });

  it('drops what is about one connection, and says so when its own ends', () => {
    const { response, sent } = relay(
      [
        'HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: x\r\nContent-Length: 0\r\n\r\n',
      ],
      { close: true },
    );
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    assert.ok(!response.reusable && response.closes);
  });

  it('lets a 426 say which protocol is wanted', () => {
    const { sent } = relay([
      'HTTP/1.1 426 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n',
    ]);
    assert.equal(
      sent,
      'HTTP/1.1 426 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n',
    );
  });

  it('ends a response without a length with the connection', () => {
    const { response, sent, progress } = relay(['HTTP/1.0 200 OK\r\n\r\nabc', 'def']);
    assert.deepEqual(progress, ['more', 'more']);
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcdef');
    assert.ok(response.completedByEnd(true) && !response.completedByEnd(false));
    assert.ok(response.closes && response.endsWithConnection);
  });

  it('takes the chunks off for HTTP/1.0', () => {
    const pieces = [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
      '2\r\nde\r\n0\r\n\r\n',
    ];
    const { sent, progress } = relay(pieces, { minor: 0, close: true });
    assert.deepEqual(progress, ['more', 'done']);
    assert.equal(sent, 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde');
  });

  it('switches only when asked to', () => {
    const pieces = ['HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nframe'];
    const { sent, progress } = relay(pieces, { upgrade: true });
    assert.deepEqual(progress, ['switched']);
    assert.equal(sent, 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nframe');
    assert.deepEqual(relay(pieces).progress, ['no-head']);
    assert.deepEqual(relay(['HTTP/1.1 101 x\r\nUpgrade: h2c\r\n\r\n'], { upgrade: true }).progress, [
      'no-head',
    ]);
  });

  it('uses no stream again on which an upgrade was turned down', () => {
    const { response, progress } = relay(['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'], { upgrade: true });
    assert.deepEqual(progress, ['done']);
    assert.ok(!response.reusable && !response.closes);
  });

  it('takes no head above 64 KiB, not even a part of one', () => {
    assert.deepEqual(relay([head(RESPONSE_HEAD_MAX_BYTES)]).progress, ['done']);
    assert.deepEqual(relay([head(RESPONSE_HEAD_MAX_BYTES + 1)]).progress, ['no-head']);
    assert.deepEqual(relay([head(RESPONSE_HEAD_MAX_BYTES + 1).slice(0, -3)]).progress, ['more']);
    assert.deepEqual(relay([head(RESPONSE_HEAD_MAX_BYTES + 9).slice(0, -3)]).progress, ['no-head']);
  });

  it('sees a response that goes wrong, before and after its head was passed on', () => {
    for (const broken of [
      'nonsense\r\n\r\n',
      'HTTP/1.1 200 OK\nX: y\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ]) {
      const { response, sent, progress } = relay([broken]);
      assert.deepEqual([progress, sent, response.committed], [['no-head'], '', false]);
    }
    const late = relay(['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n', 'zz\r\n']);
    assert.deepEqual(late.progress, ['more', 'broken']);
    assert.ok(late.response.committed);
  });
});

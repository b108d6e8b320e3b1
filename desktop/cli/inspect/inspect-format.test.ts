import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { RequestLog } from '../../client/inspector/request-log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import {
  detailJson,
  detailText,
  messagesJson,
  messagesText,
  summaryJson,
  summaryLine,
  summaryTable,
} from './inspect-format.ts';

function logOf(request: string | Buffer, answer: string | Buffer = ''): RequestLog {
  const log = new RequestLog(new FakeClock());
  const recording = log.open();
  recording.toLocal(Buffer.from(request));
  recording.toVisitor(Buffer.from(answer));
  return log;
}

function textOf(request: string | Buffer, answer: string | Buffer = ''): string {
  const detail = logOf(request, answer).detail(1);
  assert.ok(detail);
  return detailText(detail);
}

function answerWith(body: Buffer, fields = ''): Buffer {
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${fields}\r\n`),
    body,
  ]);
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe('recorded requests as text', () => {
  it('contain no terminal control characters', () => {
    const request = 'GET /\x1b]0;x\x07 HTTP/1.1\r\nX: \x1b[31m\r\n\r\n';
    const log = logOf(request, answerWith(Buffer.from('\x1b[2Jdone\r\nline\rx\n')));
    const detail = log.detail(1);
    assert.ok(detail);
    assert.doesNotMatch(detailText(detail) + summaryTable(log.list()), /[^\P{Cc}\n]/u);
    assert.match(detailText(detail), /\\x1b\[2Jdone\nline\\x0dx\n/);
  });

  it('show a connection of a TLS or TCP tunnel with its bytes, and how it has ended', () => {
    const log = new RequestLog(new FakeClock());
    const recording = log.openRaw('tcp', '203.0.113.7:51234');
    recording.connected();
    recording.toLocal(10);
    recording.toVisitor(2048);
    assert.match(
      summaryTable(log.list()),
      /^NUMBER +TIME +PROTOCOL +FROM +STATUS +TOOK +IN +OUT\n1 +[\d:]+ +TCP +203\.0\.113\.7:51234 +open +… +10 B +2 KiB\n$/,
    );
    recording.ended('service-reset');
    const detail = log.detail(1);
    assert.ok(detail);
    assert.match(detailText(detail), / 203\.0\.113\.7:51234 +service reset +0\.0 ms +10 B +2 KiB\n$/);
    const { connection, broken, bytes_in, status } = detailJson(detail);
    assert.deepEqual([connection, broken, bytes_in, status], ['service-reset', true, 10, null]);
  });

  it('indent JSON and keep every digit', () => {
    const text = textOf(GET, answerWith(Buffer.from('{"id":12345678901234567890,"ok":true}')));
    assert.match(text, /\{\n {2}"id": 12345678901234567890,\n {2}"ok": true\n\}/);
  });

  it('have the messages of a WebSocket, one line each', () => {
    const log = logOf(
      'GET /live HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n',
      Buffer.concat([
        Buffer.from('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n'),
        Buffer.from('\x81\x0a\x1b[2J price\x82\x02\x01\xff\x88\x05\x03\xe8bye', 'latin1'),
      ]),
    );
    const detail = log.detail(1);
    const messages = log.messages(1);
    assert.ok(detail && messages);
    assert.equal(detail.response?.isTruncated, false);
    const lines = messagesText(detail, messages, false).split('\n');
    assert.equal(lines[1], '↑ 0 ↓ 2 messages, and 1 control frame');
    assert.match(lines[2] ?? '', /^MESSAGE +TIME +FROM +KIND +SIZE +CONTENT$/);
    assert.match(lines[3] ?? '', /^1 +\d\d:\d\d:\d\d\.\d{3} +service +text +10 B +\\x1b\[2J price$/);
    assert.match(lines[4] ?? '', /^2 .* binary +2 B +01 ff$/);
    assert.match(lines[5] ?? '', /^3 .* close +5 B +1000 bye$/);
    const [json] = messagesJson(detail, messages).messages;
    assert.deepEqual([json?.from, json?.kind, json?.body], ['service', 'text', 'G1sySiBwcmljZQ==']);
  });

  it('have the events of a stream, with their type and id, and count them in their line', () => {
    const log = logOf(
      GET,
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\nevent: price\x1b\nid: 7\ndata: {"eur":2}\n\ndata: bye\n\n',
    );
    const detail = log.detail(1);
    const messages = log.messages(1);
    assert.ok(detail && messages);
    const lines = messagesText(detail, messages, false).split('\n');
    assert.equal(lines[1], '↓ 2 events, and 1 comment');
    assert.match(lines[4] ?? '', /^2 .* service +event +9 B +event: price\\x1b {2}id: 7 {2}\{"eur":2\}$/);
    assert.match(summaryTable([detail]), /^.* OUT +MESSAGES\n1 .* SSE .* ↓ 2\n$/);
    assert.match(summaryLine(detail), / ↓ 2\n$/);
    const counts = { kind: 'event-stream', from_visitor: 0, from_service: 2, control: 1 };
    assert.deepEqual(summaryJson(detail).message_counts, counts);
    const [, json] = messagesJson(detail, messages).messages;
    assert.deepEqual([json?.kind, json?.event, json?.id], ['event', 'price\u{1b}', '7']);
  });

  it('name the visitor if visitors have to sign in', () => {
    const log = logOf('GET / HTTP/1.1\r\nHost: x\r\nCulvert-Visitor: link:f%C3%BCr %1B[2J\r\n\r\n');
    const [summary] = log.list();
    assert.ok(summary);
    assert.match(summaryTable([summary]), /^NUMBER .* OUT +VISITOR\n1 .* link:für \\x1b\[2J\n$/);
    assert.equal(summaryJson(summary).visitor, 'link:für \u{1B}[2J');
    assert.doesNotMatch(summaryTable(logOf(GET).list()), /VISITOR/);
  });

  it('name the sender of a webhook', () => {
    const [summary] = logOf('POST / HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\n\r\n').list();
    assert.ok(summary);
    assert.match(summaryTable([summary]), /^NUMBER .* OUT +SENDER\n1 .* GitHub\n$/);
    assert.match(summaryLine(summary), / GitHub\n$/);
  });

  it('are one line each: number, method, path, status, time and bytes', () => {
    const lines = summaryTable(logOf(GET, answerWith(Buffer.from('hi'))).list()).split('\n');
    assert.match(lines[0] ?? '', /^NUMBER +TIME +METHOD +PATH +STATUS +TOOK +IN +OUT$/);
    assert.match(lines[1] ?? '', /^1 +\d\d:\d\d:\d\d +GET +\/ +200 +0\.0 ms +27 B +40 B$/);
  });

  it('show text bodies decompressed, and give the size of others', () => {
    assert.match(textOf(GET, answerWith(Buffer.from('käse'))), /\n\nkäse\n$/);
    const gzip = answerWith(gzipSync('hello'), 'Content-Encoding: gzip\r\n');
    assert.match(textOf(GET, gzip), /\n\nhello\n$/);
    assert.match(
      textOf(GET, answerWith(Buffer.from([0, 1, 2]))),
      /\[3 B, binary; use --json to see them\]\n$/,
    );
    const unknown = answerWith(Buffer.from('abc'), 'Content-Encoding: compress\r\n');
    assert.match(textOf(GET, unknown), /\[3 B, compress; use --json to see them\]\n$/);
  });

  it('report missing parts', () => {
    const long = textOf(GET, answerWith(Buffer.alloc(300_000, 'ä')));
    assert.match(
      long,
      /\n\[240 KiB more; use --json to see them\]\n\[the rest of the body was not recorded\]\n$/,
    );
    assert.match(textOf(GET), /No response yet\.\n$/);
    const log = new RequestLog();
    const recording = log.open();
    recording.toLocal(Buffer.from(GET));
    recording.end(true);
    const detail = log.detail(1);
    assert.match(detail === undefined ? '' : detailText(detail), /cut [^]*There was no response\.\n$/);
  });

  it('are complete as JSON, bodies as base64', () => {
    const detail = logOf(GET, answerWith(Buffer.from([0, 255]))).detail(1);
    assert.ok(detail);
    assert.deepEqual(detailJson(detail), {
      number: 1,
      started_at: '1970-01-01T00:00:00.000Z',
      method: 'GET',
      target: '/',
      status: 200,
      duration_ms: 0,
      bytes_in: 27,
      bytes_out: 40,
      broken: false,
      visitor: null,
      replay_of: null,
      imported: false,
      webhook: null,
      waited_ms: 0,
      connected_ms: null,
      answered_ms: 0,
      request: {
        start_line: 'GET / HTTP/1.1',
        fields: [['Host', 'x']],
        body: '',
        truncated: false,
      },
      response: {
        start_line: 'HTTP/1.1 200 OK',
        fields: [['Content-Length', '2']],
        body: 'AP8=',
        truncated: false,
      },
    });
  });
});

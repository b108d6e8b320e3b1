import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { RecordedMessage } from '../../client/inspector/records.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import type { ConnectionProblem } from '../../client/visitors/connections.ts';
import { fakeServed } from '../../testing/served.ts';
import { exampleDetail } from '../../testing/views.ts';
import type { PortScan } from './ports.ts';
import { detailView, tunnelView } from './tunnel-view.ts';
import { TunnelItem } from './tunnels/tunnel-item.ts';
import { DECODED_BODY_MAX_BYTES } from '../../client/inspector/decode-body.ts';

function message(body: Buffer, coding?: string): RecordedMessage {
  const fields: RecordedMessage['fields'] = coding === undefined ? [] : [['Content-Encoding', coding]];
  return { startLine: '', fields, body, isTruncated: false };
}

describe('a request for the window', () => {
  it('also has compressed bodies in decoded form', () => {
    const packed = gzipSync('{"a":1}');
    const detail = exampleDetail({
      request: message(packed, 'gzip'),
      response: message(Buffer.from('plain')),
    });
    const { request, response } = detailView(detail);
    assert.equal(request.body, packed);
    assert.equal(Buffer.from(request.decoded?.bytes ?? []).toString(), '{"a":1}');
    assert.equal(response, detail.response);
  });

  it('has the beginning of a large body, but all of a picture', () => {
    const large = Buffer.alloc(DECODED_BODY_MAX_BYTES + 1, 'a');
    const picture = { ...message(large), fields: [['Content-Type', 'image/png']] as const };
    const { request, response } = detailView(exampleDetail({ request: message(large), response: picture }));
    assert.deepEqual(
      [request.body.length, request.body.buffer.byteLength, request.wholeBytes, request.isTruncated],
      [DECODED_BODY_MAX_BYTES, DECODED_BODY_MAX_BYTES, DECODED_BODY_MAX_BYTES + 1, false],
    );
    assert.deepEqual([response?.body.length, response?.wholeBytes], [large.length, undefined]);
  });

  it('has the beginning of a body that is large once it is decoded', () => {
    const text = Array.from({ length: DECODED_BODY_MAX_BYTES / 4 }, (_, n) => `${n} `).join('');
    const { request } = detailView(exampleDetail({ request: message(gzipSync(text), 'gzip') }));
    const { bytes = Buffer.alloc(0), isCut, problem } = request.decoded ?? {};
    assert.deepEqual([isCut, problem], [true, undefined]);
    assert.ok(bytes.length > DECODED_BODY_MAX_BYTES / 4 && bytes.length <= DECODED_BODY_MAX_BYTES);
    assert.ok(text.startsWith(Buffer.from(bytes).toString()));
  });

  it('has a body of zeros as it was sent, because nearly nothing of it decodes to too much', () => {
    const zeros = gzipSync(Buffer.alloc(DECODED_BODY_MAX_BYTES + 1));
    const { request } = detailView(exampleDetail({ request: message(zeros, 'gzip') }));
    assert.deepEqual([request.decoded?.problem, request.decoded?.isCut], ['too-large', undefined]);
  });

  it('gives the reason if a body cannot be decoded', () => {
    const { request, response } = detailView(
      exampleDetail({ request: message(Buffer.from('plain'), 'gzip') }),
    );
    assert.equal(request.decoded?.problem, 'damaged');
    assert.equal(response, undefined);
  });
});

/** A tunnel that is online. */
const view = (problem: ConnectionProblem | undefined, ports: PortScan | undefined) => {
  const { served, serve, connection } = fakeServed();
  served.serve(connection);
  serve.last.onState({ name: 'online' });
  if (problem !== undefined) serve.last.onProblem(problem);
  return tunnelView(new TunnelItem(served), ports, true);
};

describe('tunnelView', () => {
  const refused = { code: 'local-refused', text: 'Nothing answers.' } as const;
  const blocked = { code: 'host-blocked', text: 'It refuses the name.' } as const;

  it('has times and counts in the units of the window', () => {
    const { expiresAt, ttl, framework } = view(undefined, scan([3000]));
    assert.deepEqual([expiresAt, ttl, framework], [Date.parse(TUNNEL.expires_at), 3600, 'Vite']);
  });

  it('has the last three requests', () => {
    const { served } = fakeServed();
    for (let n = 1; n <= 5; n += 1)
      served.log.open().toLocal(Buffer.from(`GET /${n} HTTP/1.1\r\nHost: a\r\n\r\n`));
    const { recent } = tunnelView(new TunnelItem(served), undefined, true);
    assert.deepEqual(
      recent.map(({ target }) => target),
      ['/5', '/4', '/3'],
    );
  });

  it('reports that nothing listens before a visitor notices', () => {
    assert.equal(view(undefined, scan([])).localProblem?.code, 'local-refused');
  });

  it('reports nothing about a port that may belong to another user', () => {
    assert.equal(view(undefined, scan([], false)).localProblem, undefined);
  });

  it('withdraws that, and nothing else, as soon as a program listens', () => {
    assert.equal(view(refused, scan([3000])).localProblem, undefined);
    assert.equal(view(blocked, scan([3000])).localProblem?.code, blocked.code);
  });

  it('relies on visitors if there is no port scan', () => {
    assert.equal(view(refused, undefined).localProblem?.code, refused.code);
  });
});

const scan = (listening: number[], isComplete = true): PortScan => ({
  listening: new Set(listening),
  isComplete,
  ports: [{ port: 3000, process: 'node', framework: 'Vite' }],
});

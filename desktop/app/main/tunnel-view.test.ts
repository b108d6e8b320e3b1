import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { RecordedMessage } from '../../client/inspector/records.ts';
import { exampleDetail } from '../../testing/views.ts';
import { detailView } from './tunnel-view.ts';

function message(body: Buffer, coding?: string): RecordedMessage {
  const fields: RecordedMessage['fields'] = coding === undefined ? [] : [['Content-Encoding', coding]];
  return { startLine: '', fields, body, isTruncated: false };
}

describe('a request for the window', () => {
  it('has compressed bodies as they were before, too', () => {
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

  it('says of a body that does not decode why', () => {
    const { request, response } = detailView(
      exampleDetail({ request: message(Buffer.from('plain'), 'gzip') }),
    );
    assert.equal(request.decoded?.problem, 'damaged');
    assert.equal(response, undefined);
  });
});

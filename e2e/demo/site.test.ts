import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { suiteScope } from '../support/scope.ts';
import { page, startSite } from './site.ts';

describe('the sample site', () => {
  const scope = suiteScope();

  it('has relative addresses that work below a path prefix, and loads nothing from elsewhere', () => {
    assert.match(page({ host: 'a' }), /<base href="\/" \/>/);
    assert.match(page({ host: 'a', 'x-forwarded-prefix': '/t/my-app' }), /<base href="\/t\/my-app\/" \/>/);
    assert.doesNotMatch(page({ host: 'a' }), /https?:\/\//);
  });

  it('does not trust an invalid prefix, and shows what visitors send as text', () => {
    const html = page({ 'x-forwarded-prefix': '//evil.example/"', 'x-forwarded-host': '<script>$&' });
    assert.match(html, /<base href="\/" \/>/);
    assert.ok(html.includes('&#60;script&#62;$&#38;'));
    assert.ok(!html.includes('evil.example'));
  });

  it('serves the page and the time, hashes an upload, and echoes messages', async () => {
    const origin = `http://127.0.0.1:${(await startSite(scope)).port}`;
    assert.match(await (await fetch(origin)).text(), /through the tunnel/);
    assert.equal((await fetch(`${origin}/nothing`)).status, 404);

    const clock = await (await fetch(`${origin}/clock`)).body?.getReader().read();
    assert.match(Buffer.from(clock?.value ?? []).toString(), /^data: \d{4}-\d\d-\d\dT\S+Z\n\n/);

    const body = 'x'.repeat(100_000);
    const answer = await (await fetch(`${origin}/upload`, { method: 'POST', body })).json();
    assert.deepEqual(answer, { bytes: 100_000, sha256: createHash('sha256').update(body).digest('hex') });

    const socket = new WebSocket(`${origin.replace('http', 'ws')}/echo`);
    await once(socket, 'open');
    socket.send('hello');
    const [message] = (await once(socket, 'message')) as [Buffer];
    assert.equal(message.toString(), 'hello');
    socket.close();
  });
});

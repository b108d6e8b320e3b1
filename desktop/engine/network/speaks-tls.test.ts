import assert from 'node:assert/strict';
import { closeServers, startTcp, startTls } from '../../testing/servers.ts';
import { TLS_PROBE_TIMEOUT_MS } from '../limits.ts';
import { speaksTls } from './speaks-tls.ts';

const at = (port: number) => ({ secure: false, hostname: '127.0.0.1', port, host: `127.0.0.1:${port}` });

describe('speaksTls', () => {
  afterEach(closeServers);

  it('recognises TLS, whoever has signed the certificate', async () => {
    assert.equal(await speaksTls(at(await startTls(() => {}))), true);
  });

  it('recognises what speaks something else', async () => {
    const port = await startTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    assert.equal(await speaksTls(at(port)), false);
  });

  it('gives up after 2 s on a server that says nothing', async () => {
    const port = await startTcp((socket) => socket.resume());
    const begin = performance.now();
    assert.equal(await speaksTls(at(port)), false);
    assert.ok(performance.now() - begin >= TLS_PROBE_TIMEOUT_MS - 10);
  });
});

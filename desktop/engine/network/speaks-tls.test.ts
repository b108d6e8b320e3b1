import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { closeServers, startTcp, startTls } from '../../testing/servers.ts';
import { TLS_PROBE_TIMEOUT_MS } from '../limits.ts';
import { speaksTls } from './speaks-tls.ts';

const at = (port: number) => ({ secure: false, hostname: '127.0.0.1', port, host: `127.0.0.1:${port}` });

describe('speaksTls', () => {
  afterEach(() => {
    mock.timers.reset();
    closeServers();
  });

  it('recognises TLS, whoever has signed the certificate', async () => {
    assert.equal(await speaksTls(at(await startTls(() => {}))), true);
  });

  it('recognises what speaks something else', async () => {
    const port = await startTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    assert.equal(await speaksTls(at(port)), false);
  });

  it('gives up after 2 s on a server that says nothing', async () => {
    await assertGivenUp('');
  });

  it('gives up after 2 s on a server that says a little of TLS', async () => {
    // Of a record that is said to have 16 KiB.
    await assertGivenUp('\x16\x03\x03\x40\x00\x02');
  });
});

async function assertGivenUp(said: string): Promise<void> {
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
}

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http2';
import { join } from 'node:path';
import { closeServers, listen, startHttp } from '../../testing/servers.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { localPort } from '../local/local-service.ts';
import { type MessageValue, textOf } from '../messages.ts';
import { parseRelayAddress } from '../relay/relay-address.ts';
import { compressHop, localHop, tcpHop } from './diagnose.ts';
import { HopFailure, HopSkipped } from './hop.ts';

const REMEDIES = { noKey: '', badKey: '', certificate: '', noLocal: '', local: '' };

describe('the last hop, to a folder', () => {
  it('reports whether the folder can be read, and what to do if not', async () => {
    const folder = temporaryDirectory();
    const hop = localHop({ local: { folder }, remedies: REMEDIES });
    assert.equal(textOf(await hop.check()), `the folder ${folder} can be read`);
    rmSync(folder, { recursive: true });
    await assert.rejects(hop.check(), (error) => {
      assert.ok(error instanceof HopFailure);
      assert.match(error.message, /cannot be read \(ENOENT\)/);
      assert.match(textOf(error.fix), /Restore the folder/);
      return true;
    });
  });
});

async function checkCompression(url: string, proxy?: string): Promise<MessageValue> {
  return await compressHop(parseRelayAddress(url), { proxyFor: () => proxy }).check();
}

describe('compressHop', () => {
  it('reports that responses are compressed, and why', async () => {
    const why = /^on \(auto\), because the relay is neither on this machine nor on a private network: /;
    assert.match(textOf(await checkCompression('https://203.0.113.7')), why);
    assert.match(textOf(await checkCompression('https://relay.invalid', 'proxy:3128')), /: relay\.invalid$/);
  });

  it('is skipped if responses are not compressed, and reports why', async () => {
    const network = { proxyFor: () => undefined };
    const raw = compressHop(parseRelayAddress('https://203.0.113.7'), network, true);
    await assert.rejects(async () => await raw.check(), /off, because TLS and TCP tunnels/);
    for (const [url, why] of [
      ['http://localhost:8080', /^off \(auto\), because the relay is on this machine: localhost$/],
      ['https://[fd00::1]', /^off \(auto\), because the relay is on a private network: fd00::1$/],
    ] as const)
      await assert.rejects(
        checkCompression(url),
        (error) => error instanceof HopSkipped && why.test(error.message),
      );
  });
});

describe('tcpHop', () => {
  let folder: string;

  beforeEach(() => void (folder = temporaryDirectory()));

  it('names the congestion control, and says how to change one that is slow on lines that lose packets', async () => {
    const path = join(folder, 'control');
    writeFileSync(path, 'cubic\n');
    assert.match(
      textOf(await tcpHop(path).check()),
      /^congestion control cubic, .*tcp_congestion_control=bbr"$/,
    );
    writeFileSync(path, 'bbr\n');
    assert.match(textOf(await tcpHop(path).check()), /^congestion control bbr, which stays fast/);
  });

  it('is skipped if the system does not report it', async () => {
    await assert.rejects(tcpHop(join(folder, 'none')).check(), HopSkipped);
  });
});

describe('localHop', () => {
  afterEach(closeServers);

  it('connects with the protocol of the tunnel', async () => {
    const server = createServer();
    const port = await listen(server);
    const hop = localHop({ local: { ...localPort(port), upstream: 'h2c' }, remedies: REMEDIES });
    assert.match(textOf(await hop.check()), /accepts connections/);
  });

  it('only connects for a tunnel that carries bytes, whose service may be silent', async () => {
    const port = await listen(createServer());
    const raw = { protocol: 'tcp', remotePort: undefined, proxyProtocol: false } as const;
    const hop = localHop({ local: { ...localPort(port), raw }, remedies: REMEDIES });
    assert.match(textOf(await hop.check()), /accepts connections; .* sends nothing$/);
  });

  it('reports why a service that listens cannot be reached', async () => {
    const { port } = await startHttp((_request, response) => response.end());
    const hop = localHop({ local: { ...localPort(port), https: true }, remedies: REMEDIES });
    await assert.rejects(hop.check(), { message: `port ${port}: it does not speak TLS` });
  });

  it('reports a service that does not speak HTTP/2', async () => {
    const { port } = await startHttp((_request, response) => response.end());
    const hop = localHop({ local: { ...localPort(port), upstream: 'h2c' }, remedies: REMEDIES });
    await assert.rejects(hop.check(), (error) => {
      assert.ok(error instanceof HopFailure);
      assert.match(error.message, /does not speak HTTP\/2/);
      assert.match(textOf(error.fix), /--upstream/);
      return true;
    });
  });
});

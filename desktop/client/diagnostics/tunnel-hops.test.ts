import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { startFakeRelay, atClose, closedPort, closeServers, listen } from '../../testing/servers.ts';
import { textOf } from '../messages.ts';
import { Network } from '../network/network.ts';
import { parseRelayAddress } from '../relay/relay-address.ts';
import { HopFailure, HopSkipped, type RelayAccess } from './hop.ts';
import { checkTrunk } from './tunnel-hops.ts';

const TUNNEL_ID = '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f';
const NOT_FOUND = JSON.stringify({ error: 'not found', code: 'not-found' });
const UPGRADE_REQUIRED = JSON.stringify({ error: 'upgrade required', code: 'upgrade-required' });

function accessTo(port: number): RelayAccess {
  const relay = parseRelayAddress(`http://127.0.0.1:${port}`);
  return { relay, key: `cvt_${'k'.repeat(32)}`, network: new Network() };
}

/** A server that answers upgrades and plain requests with these statuses and bodies. */
async function startRefusing(upgrade: string, plain: [status: number, body: string]): Promise<RelayAccess> {
  const server = createServer((_request, response) => response.writeHead(plain[0]).end(plain[1]));
  server.on('upgrade', (_request, socket) => socket.end(`HTTP/1.1 ${upgrade}\r\nContent-Length: 0\r\n\r\n`));
  atClose(() => server.closeAllConnections());
  return accessTo(await listen(server));
}

describe('checkTrunk', () => {
  afterEach(closeServers);

  it('opens a trunk of the tunnel, and cuts it', async () => {
    const relay = await startFakeRelay();
    const opened = relay.trunk();
    assert.equal(
      textOf(await checkTrunk(accessTo(relay.address.port), TUNNEL_ID)),
      'visitors share connections to the relay',
    );
    const { socket, target } = await opened;
    assert.equal(target, `/ws/trunk?tunnel_id=${TUNNEL_ID}`);
    await new Promise((resolve) => socket.once('close', resolve));
  });

  it('accepts a relay that already has its maximum of trunks', async () => {
    const access = await startRefusing('429 Too Many Requests', [426, UPGRADE_REQUIRED]);
    assert.equal(textOf(await checkTrunk(access, TUNNEL_ID)), 'visitors share connections to the relay');
  });

  for (const [what, plain] of Object.entries({
    'takes none': [426, UPGRADE_REQUIRED],
    'has no trunks': [404, NOT_FOUND],
  } as const)) {
    it(`skips the check if the relay ${what}`, async () => {
      const access = await startRefusing('404 Not Found', [...plain]);
      await assert.rejects(checkTrunk(access, TUNNEL_ID), (error) => {
        assert.ok(error instanceof HopSkipped);
        assert.equal(error.message, 'this relay does not support shared connections');
        return true;
      });
    });
  }

  for (const [upgrade, plain] of [
    ['404 Not Found', [404, '<h1>Not Found</h1>']],
    ['403 Forbidden', [403, '<h1>Forbidden</h1>']],
    ['426 Upgrade Required', [426, UPGRADE_REQUIRED]],
  ] as const) {
    it(`names the path if something in front of the relay answers with ${upgrade}`, async () => {
      const access = await startRefusing(upgrade, [...plain]);
      await assert.rejects(checkTrunk(access, TUNNEL_ID), (error) => {
        assert.ok(error instanceof HopFailure);
        const status = upgrade.slice(0, 3);
        assert.equal(error.message, `/ws/trunk: the relay responded with status ${status}`);
        assert.match(textOf(error.fix), /proxy .* must forward \/ws\/trunk/);
        return true;
      });
    });
  }

  it('reports why there is no connection', async () => {
    await assert.rejects(checkTrunk(accessTo(await closedPort()), TUNNEL_ID), (error) => {
      assert.ok(error instanceof HopFailure);
      assert.match(error.message, /^\/ws\/trunk: nothing is listening there$/);
      return true;
    });
  });
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { startFakeRelay, atClose, closedPort, closeServers, listen } from '../../testing/servers.ts';
import { textOf, toMessage } from '../messages.ts';
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
async function startRefusing(upgrade: string, status: number, body: string): Promise<RelayAccess> {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  server.on('upgrade', (_request, socket) => socket.end(`HTTP/1.1 ${upgrade}\r\nContent-Length: 0\r\n\r\n`));
  atClose(() => server.closeAllConnections());
  return accessTo(await listen(server));
}

const proxied = (status: number): string =>
  `HopFailure: /ws/trunk: the relay responded with status ${status}\n${textOf(toMessage('doctor.trunkFix'))}`;

/** @returns what the check fails with, and how to mend it */
async function failureOf(access: RelayAccess): Promise<string> {
  const error: unknown = await checkTrunk(access, TUNNEL_ID).catch((failure: unknown) => failure);
  if (error instanceof HopSkipped) return `HopSkipped: ${error.message}`;
  assert.ok(error instanceof HopFailure);
  return `HopFailure: ${error.message}\n${textOf(error.fix)}`;
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
    const access = await startRefusing('429 Too Many Requests', 426, UPGRADE_REQUIRED);
    assert.equal(textOf(await checkTrunk(access, TUNNEL_ID)), 'visitors share connections to the relay');
  });

  const NONE = 'HopSkipped: this relay does not support shared connections';
  for (const [what, upgrade, status, body, failure] of [
    ['skips the check if the relay takes none', '404 Not Found', 426, UPGRADE_REQUIRED, NONE],
    ['skips the check if the relay has none', '404 Not Found', 404, NOT_FOUND, NONE],
    ['names the path if a proxy does not know it', '404 Not Found', 404, '<h1>Not Found</h1>', proxied(404)],
    ['names the path if a proxy refuses it', '403 Forbidden', 403, '<h1>Forbidden</h1>', proxied(403)],
    [
      'names the path if a proxy upgrades nothing',
      '426 Upgrade Required',
      426,
      UPGRADE_REQUIRED,
      proxied(426),
    ],
  ] as const)
    it(what, async () => assert.equal(await failureOf(await startRefusing(upgrade, status, body)), failure));

  it('reports why there is no connection', async () => {
    const failure = await failureOf(accessTo(await closedPort()));
    assert.equal(failure.split('\n')[0], 'HopFailure: /ws/trunk: nothing is listening there');
  });
});

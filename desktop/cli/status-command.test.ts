import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Network } from '../engine/network/network.ts';
import { record } from '../testing/recorder.ts';
import { startRestRelay } from '../testing/rest-relay.ts';
import { closeServers } from '../testing/servers.ts';
import { ACCOUNT, TUNNEL } from '../testing/tunnel.ts';
import { runStatus } from './status-command.ts';

async function status(tunnels: Tunnel[], json = false): Promise<string> {
  const { address } = await startRestRelay((call) => [200, call.endsWith('account') ? ACCOUNT : { tunnels }]);
  const { printed, output } = record();
  const network = new Network();
  const command = { command: 'status', relay: address, key: `cvt_${'k'.repeat(32)}`, network, json } as const;
  await runStatus(command, output, Date.parse(TUNNEL.expires_at) - 90_000);
  return printed.out.replaceAll(address.origin, 'RELAY');
}

describe('runStatus', () => {
  afterEach(closeServers);

  it('shows account, limits, and live tunnels with the time they have left', async () => {
    const tunnel = { ...TUNNEL, idle_ttl: true, requests: 12, bytes_out: 2048 };
    assert.equal(
      await status([tunnel]),
      `Relay         RELAY
Account       default (dev plan), subdomain demo
Tunnels       1 live, at most 1000
Time to live  1h0m0s unless asked for, at most 168h0m0s
Creates       10 a minute, 5 at once
Connections   without a limit

TUNNEL  PORT  TIME LEFT    REQUESTS  IN   OUT      ADDRESS
my-app  3000  1m 30s idle  12        0 B  2.0 KiB  http://my-app.demo.localhost:8080
`,
    );
  });

  it('shows no table if there are no tunnels', async () => {
    assert.match(await status([]), /^Tunnels {7}0 live.*[^]*Connections .*\n$/m);
  });

  it('prints JSON', async () => {
    const printed: unknown = JSON.parse(await status([TUNNEL], true));
    assert.deepEqual(printed, { relay: 'RELAY', account: ACCOUNT, tunnels: [TUNNEL] });
  });
});

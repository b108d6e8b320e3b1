import assert from 'node:assert/strict';
import type { Domain } from '../../../shared/domains.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { Network } from '../../engine/network/network.ts';
import { record } from '../../testing/recorder.ts';
import { type RestResponse, startRestRelay } from '../../testing/rest-relay.ts';
import { closeServers } from '../../testing/servers.ts';
import { ACCOUNT, TUNNEL } from '../../testing/tunnel.ts';
import { runStatus } from './status-command.ts';

const DOMAIN: Domain = {
  id: '9a1f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  domain: 'app.example.com',
  status: 'verified',
  records: [],
  created_at: TUNNEL.created_at,
  verified_at: TUNNEL.created_at,
  failing_since: null,
  ends_at: null,
};
const PENDING: Domain = { ...DOMAIN, domain: 'b.example.com', status: 'pending', verified_at: null };

/** @param domains what the relay says of them */
async function status(
  tunnels: Tunnel[],
  json = false,
  domains: RestResponse = [200, { domains: [] }],
): Promise<string> {
  const { address } = await startRestRelay((call) => {
    if (call.endsWith('domains')) return domains;
    return [200, call.endsWith('account') ? ACCOUNT : { tunnels }];
  });
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

TUNNEL  STATE    PORT  TIME LEFT    REQUESTS  IN   OUT      LETS IN    ADDRESS
my-app  offline  3000  1m 30s idle  12        0 B  2.0 KiB  everybody  http://my-app.demo.localhost:8080
`,
    );
  });

  it('shows no table if there are no tunnels', async () => {
    assert.match(await status([]), /^Tunnels {7}0 live.*[^]*Connections .*\n$/m);
  });

  it('prints JSON', async () => {
    const printed: unknown = JSON.parse(await status([TUNNEL], true));
    assert.deepEqual(printed, { relay: 'RELAY', account: ACCOUNT, tunnels: [TUNNEL], domains: [] });
  });

  it('shows who may come in, and the domains of the account', async () => {
    const domains: RestResponse = [200, { domains: [DOMAIN, PENDING] }];
    const locked = { ...TUNNEL, access: { links: true } as const, public_url: 'https://app.example.com' };
    const text = await status([locked], false, domains);
    assert.match(text, /^Domains +app\.example\.com \(verified\), b\.example\.com \(pending\)$/m);
    assert.match(text, / signed link +https:\/\/app\.example\.com$/m);
    const printed = JSON.parse(await status([], true, domains)) as { domains: Domain[] };
    assert.deepEqual(printed.domains, [DOMAIN, PENDING]);
  });

  it('does without domains where the relay or the key has none', async () => {
    for (const refused of [
      [404, { error: 'not found' }],
      [403, { error: 'this key is for one tunnel' }],
    ] as RestResponse[])
      assert.doesNotMatch(await status([TUNNEL], false, refused), /Domains/);
    await assert.rejects(status([TUNNEL], false, [500, { error: 'internal error' }]));
  });
});

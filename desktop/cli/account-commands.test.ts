import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Domain } from '../../shared/domains.ts';
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import type { Prompt } from '../client/config/relay-access.ts';
import { StoredLogin } from '../client/config/stored-login.ts';
import { UsageError } from '../client/failures.ts';
import { Network } from '../client/network/network.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import { ACCOUNT, TUNNEL } from '../testing/fake-platform.ts';
import { contextOf, record } from '../testing/recorder.ts';
import { type RestResponse, startRestRelay } from '../testing/rest-relay.ts';
import { closeServers } from '../testing/servers.ts';
import { logoutCommand, runLogin, runStatus } from './account-commands.ts';

const KEY = `cvt_${'k'.repeat(32)}`;

/** Somebody who types these answers, or a pipe that contains them. */
function answering(isInteractive: boolean, ...answers: string[]): Prompt & { readonly asked: string[] } {
  const asked: string[] = [];
  const ask = (question: string): Promise<string> => {
    asked.push(question);
    return Promise.resolve(answers.shift() ?? assert.fail('asked once too often'));
  };
  return { isInteractive, ask, askSecret: ask, asked };
}

describe('login', () => {
  let folder: string;
  let stored: StoredLogin;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'culvert-login-'));
    stored = new StoredLogin(folder, () => {});
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
    closeServers();
  });

  /** Signs in to a relay that responds as told. */
  async function login(
    prompt: Prompt,
    { answer = [200, ACCOUNT] as RestResponse, key = undefined as string | undefined, json = false } = {},
  ) {
    const { address, calls } = await startRestRelay(() => answer);
    const { printed, output } = record();
    const network = new Network();
    const command = {
      relay: address,
      relayFrom: 'the default',
      insecure: false,
      ca: undefined,
      invitation: undefined,
      key,
      network,
      json,
    } as const;
    await runLogin(command, { stored, prompt, output });
    return { address, calls, printed };
  }

  it('asks a person for relay and key, checks them and stores both', async () => {
    const prompt = answering(true, '', ` ${KEY}\n`);
    const { address, calls, printed } = await login(prompt);
    assert.deepEqual(prompt.asked, [`Relay [${address.origin}]: `, `API key for ${address.origin}: `]);
    assert.deepEqual(calls, ['GET /v1/account']);
    assert.deepEqual(stored.read(), { relay: address, key: KEY });
    assert.match(printed.out, /Signed in to http:\/\/127.* as default \(dev plan\)/);
    assert.ok(!printed.out.includes(KEY));
  });

  it('reads only the key from a pipe, and nothing if it is an option', async () => {
    const pipe = answering(false, KEY);
    await login(pipe);
    assert.equal(pipe.asked.length, 1);
    await login(answering(false), { key: KEY });
    assert.equal(stored.read()?.key, KEY);
  });

  it('assumes TLS for a relay without a scheme', async () => {
    await assert.rejects(
      login(answering(true, 'relay.invalid', KEY)),
      /https:\/\/relay\.invalid cannot be reached/,
    );
  });

  it('does not ask for a key for a relay that is not encrypted', async () => {
    const prompt = answering(true, 'http://relay.invalid');
    await assert.rejects(login(prompt), /http:\/\/relay\.invalid is not encrypted.*--insecure/);
    assert.equal(prompt.asked.length, 1);
  });

  it('stores nothing that the relay rejects', async () => {
    const refused: RestResponse = [401, { error: 'invalid api key' }];
    await assert.rejects(login(answering(false, KEY), { answer: refused }), RelayRefusal);
    await assert.rejects(login(answering(false, 'cvt_short')), UsageError);
    assert.equal(stored.read(), undefined);
  });

  it('prints JSON when asked to, without the key', async () => {
    const { address, printed } = await login(answering(false, KEY), { json: true });
    assert.deepEqual(JSON.parse(printed.out), { relay: address.origin, account: 'default', plan: 'dev' });
  });

  it('is forgotten by logout, which may be repeated', async () => {
    await login(answering(false, KEY));
    const { printed, output } = record();
    const context = { ...contextOf(output), stored };
    await logoutCommand.run({ json: false }, context);
    await logoutCommand.run({ json: true }, context);
    assert.match(printed.out, /^Signed out and removed .*login\.json\. .*valid\.\n\{"signed_out":false\}\n$/);
    assert.equal(stored.read(), undefined);
  });

  describe('with an invitation', () => {
    const token = 't'.repeat(32);

    async function accept(answer: RestResponse, account: RestResponse = [200, ACCOUNT]) {
      const { address, calls } = await startRestRelay((call) =>
        call.startsWith('POST /v1/invites/') ? answer : account,
      );
      const { printed, output } = record();
      const command = {
        relay: address,
        relayFrom: 'the address',
        insecure: false,
        ca: undefined,
        key: undefined,
        invitation: { relay: address, token },
        network: new Network(),
        json: false,
      } as const;
      await runLogin(command, { stored, prompt: answering(true), output });
      return { address, calls, printed };
    }

    it('gets a key named after this machine, asks nothing, and stores it', async () => {
      const { address, calls } = await accept([
        201,
        { id: 'x', account: 'acme', key: KEY, relay: 'https://x' },
      ]);
      assert.deepEqual(stored.read(), { relay: address, key: KEY });
      assert.equal(calls[0], `POST /v1/invites/${token} ${JSON.stringify({ machine: hostname() })}`);
    });

    it('stores nothing and gives the reason if it was already used', async () => {
      const gone = {
        error: 'this invitation was already used, has expired, or never existed',
        code: 'invitation-not-found',
      };
      await assert.rejects(accept([404, gone]), (error) => {
        assert.ok(error instanceof RelayRefusal);
        assert.match(error.message, /was already used/);
        return true;
      });
      assert.equal(stored.read(), undefined);
    });

    it('stores the key even if the connection is lost right afterwards', async () => {
      const taken = { id: 'x', account: 'acme', key: KEY, relay: 'https://x' };
      await assert.rejects(accept([201, taken], [503, { error: 'service unavailable' }]));
      assert.equal(stored.read()?.key, KEY);
    });

    it('rejects a malformed key', async () => {
      await assert.rejects(accept([201, { id: 'x', account: 'acme', key: 'x', relay: 'https://x' }]), /key/);
      assert.equal(stored.read(), undefined);
    });
  });
});

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
  account: Account = ACCOUNT,
): Promise<string> {
  const { address } = await startRestRelay((call) => {
    if (call.endsWith('domains')) return domains;
    return [200, call.endsWith('account') ? account : { tunnels }];
  });
  const { printed, output } = record();
  const network = new Network();
  const command = { relay: address, key: `cvt_${'k'.repeat(32)}`, network, json } as const;
  await runStatus(command, output, Date.parse(TUNNEL.expires_at) - 90_000);
  return printed.out.replaceAll(address.origin, 'RELAY');
}

describe('runStatus', () => {
  afterEach(closeServers);

  it('shows account, limits, and live tunnels with their remaining time', async () => {
    const tunnel = { ...TUNNEL, idle_ttl: true, requests: 12, bytes_out: 2048 };
    assert.equal(
      await status([tunnel]),
      `Relay         RELAY
Account       default (dev plan), subdomain demo
Tunnels       1 live, at most 1000
Time to live  1h0m0s by default, at most 168h0m0s
Creates       10 per minute, with bursts of up to 5
Connections   no limit

TUNNEL  STATE    PORT  TIME LEFT    REQUESTS  IN   OUT     ACCESS    ADDRESS
my-app  offline  3000  1m 30s idle  12        0 B  2.0 kB  everyone  http://my-app.demo.localhost:8080
`,
    );
  });

  it("shows the bounds of an agent's key", async () => {
    const account = { ...ACCOUNT, agent_key: { name_prefix: 'ai-' } };
    const text = await status([], false, undefined, account);
    assert.match(text, /^Key +an agent's: names begin with ai-, and tunnels need an access policy$/m);
  });

  it('shows no table if there are no tunnels', async () => {
    assert.match(await status([]), /^Tunnels {7}0 live.*[^]*Connections .*\n$/m);
  });

  it('prints JSON', async () => {
    const printed: unknown = JSON.parse(await status([TUNNEL], true));
    assert.deepEqual(printed, { relay: 'RELAY', account: ACCOUNT, tunnels: [TUNNEL], domains: [] });
  });

  it('shows the access policies, and the domains of the account', async () => {
    const domains: RestResponse = [200, { domains: [DOMAIN, PENDING] }];
    const locked = { ...TUNNEL, access: { links: true } as const, public_url: 'https://app.example.com' };
    const text = await status([locked], false, domains);
    assert.match(text, /^Domains +app\.example\.com \(verified\), b\.example\.com \(pending\)$/m);
    assert.match(text, / signed link +https:\/\/app\.example\.com$/m);
    const printed = JSON.parse(await status([], true, domains)) as { domains: Domain[] };
    assert.deepEqual(printed.domains, [DOMAIN, PENDING]);
  });

  it('omits domains if the relay or the key does not support them', async () => {
    for (const refused of [
      [404, { error: 'not found' }],
      [403, { error: 'this key is for one tunnel' }],
    ] as RestResponse[])
      assert.doesNotMatch(await status([TUNNEL], false, refused), /Domains/);
    await assert.rejects(status([TUNNEL], false, [500, { error: 'internal error' }]));
  });
});

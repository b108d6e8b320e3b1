import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoredLogin } from '../../config/stored-login.ts';
import { Network } from '../../engine/network/network.ts';
import { RelayRefusal } from '../../engine/relay/errors.ts';
import { record } from '../../testing/recorder.ts';
import { type RestResponse, startRestRelay } from '../../testing/rest-relay.ts';
import { closeServers } from '../../testing/servers.ts';
import { ACCOUNT } from '../../testing/tunnel.ts';
import { runLogin, runLogout } from './login-command.ts';
import type { Prompt } from '../prompt.ts';
import { UsageError } from '../usage-error.ts';

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
      command: 'login',
      relay: address,
      relayFrom: 'the default',
      insecure: false,
      ca: undefined,
      key,
      network,
      json,
    } as const;
    await runLogin(command, stored, prompt, output);
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

  it('takes only the key from a pipe, and nothing if it is an option', async () => {
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

  it('stores nothing that the relay refuses', async () => {
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
    await runLogout({ command: 'logout', json: false }, stored, output);
    await runLogout({ command: 'logout', json: true }, stored, output);
    assert.match(printed.out, /^Signed out: .*login\.json is removed.*valid\.\n\{"signed_out":false\}\n$/);
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
        command: 'login',
        relay: address,
        relayFrom: 'the address',
        insecure: false,
        ca: undefined,
        key: undefined,
        invitation: { relay: address, token },
        network: new Network(),
        json: false,
      } as const;
      await runLogin(command, stored, answering(true), output);
      return { address, calls, printed };
    }

    it('gets a key under the name of this machine, asks for nothing, and keeps it', async () => {
      const { address, calls } = await accept([
        201,
        { id: 'x', account: 'acme', key: KEY, relay: 'https://x' },
      ]);
      assert.deepEqual(stored.read(), { relay: address, key: KEY });
      assert.equal(calls[0], `POST /v1/invites/${token} ${JSON.stringify({ machine: hostname() })}`);
    });

    it('keeps nothing, and says why, when it was used already', async () => {
      const gone = {
        error: 'this invitation was used already, has ended, or never was',
        code: 'invitation-not-found',
      };
      await assert.rejects(accept([404, gone]), (error) => {
        assert.ok(error instanceof RelayRefusal);
        assert.match(error.message, /was used already/);
        return true;
      });
      assert.equal(stored.read(), undefined);
    });

    it('keeps the key even if the relay is lost in the next moment', async () => {
      const taken = { id: 'x', account: 'acme', key: KEY, relay: 'https://x' };
      await assert.rejects(accept([201, taken], [503, { error: 'service unavailable' }]));
      assert.equal(stored.read()?.key, KEY);
    });

    it('takes no key that is none', async () => {
      await assert.rejects(accept([201, { id: 'x', account: 'acme', key: 'x', relay: 'https://x' }]), /key/);
      assert.equal(stored.read(), undefined);
    });
  });
});

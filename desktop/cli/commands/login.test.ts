import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import type { Prompt } from '../../client/config/relay-access.ts';
import { StoredLogin } from '../../client/config/stored-login.ts';
import { UsageError } from '../../client/failures.ts';
import { Network } from '../../client/network/network.ts';
import { RelayRefusal } from '../../client/relay/errors.ts';
import { ACCOUNT } from '../../testing/fake-platform.ts';
import { contextOf, record } from '../../testing/command-context.ts';
import { closeServers, type RestResponse, startRestRelay } from '../../testing/servers.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { completeLogin, readAccessOrLogin, runLogin } from './login.ts';
import { logoutCommand } from './logout.ts';

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

/** Where the login of a signed-out machine is stored, in each test. */
let stored: StoredLogin;

function signedOut(): void {
  beforeEach(() => void (stored = new StoredLogin(temporaryDirectory(), () => {})));
  afterEach(closeServers);
}

/** A person is asked differently where the relay gives keys to people who sign in, so it is asked first. */
const withoutBody = (call: string): string => call.split(' ', 2).join(' ');

const TAKEN = { id: 'x', account: 'acme', key: KEY, relay: 'https://x' };
const TOKEN = 't'.repeat(32);

/**
 * Signs in to a relay.
 *
 * @param answer its response about the account
 * @param invited its response to the invitation with {@link TOKEN}, if there is one
 */
async function login(
  prompt: Prompt,
  {
    answer = [200, ACCOUNT] as RestResponse,
    invited = undefined as RestResponse | undefined,
    key = undefined as string | undefined,
    json = false,
    recorded = record(),
  } = {},
) {
  const { address, calls } = await startRestRelay((call) =>
    invited !== undefined && call.startsWith('POST /v1/invites/') ? invited : answer,
  );
  const command = {
    relay: address,
    relayFrom: invited === undefined ? 'the default' : 'the address',
    insecure: false,
    ca: undefined,
    invitation: invited === undefined ? undefined : { relay: address, token: TOKEN },
    key,
    network: new Network(),
    json,
  } as const;
  await runLogin(command, { stored, prompt, output: recorded.output });
  return { address, calls, printed: recorded.printed };
}

const accept = (invited: RestResponse, more: Parameters<typeof login>[1] = {}) =>
  login(answering(true), { invited, ...more });

describe('login', () => {
  signedOut();

  it('asks a person for relay and key, checks them and stores both', async () => {
    const prompt = answering(true, '', ` ${KEY}\n`);
    const { address, calls, printed } = await login(prompt);
    assert.deepEqual(prompt.asked, [`Relay [${address.origin}]: `, `API key for ${address.origin}: `]);
    assert.deepEqual(calls.map(withoutBody), ['POST /v1/logins', 'GET /v1/account']);
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
    it('gets a key named after this machine, asks nothing, and stores it', async () => {
      const { address, calls } = await accept([201, TAKEN]);
      assert.deepEqual(stored.read(), { relay: address, key: KEY });
      assert.equal(calls[0], `POST /v1/invites/${TOKEN} ${JSON.stringify({ machine: hostname() })}`);
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
      await assert.rejects(accept([201, TAKEN], { answer: [503, { error: 'service unavailable' }] }));
      assert.equal(stored.read()?.key, KEY);
    });

    it('shows the key if it cannot be stored, because no other can be had', async () => {
      stored = new StoredLogin('/dev/null/folder', () => {});
      const recorded = record();
      await assert.rejects(accept([201, TAKEN], { recorded }), /login\.json cannot be written \(ENOTDIR/);
      assert.match(recorded.printed.err, new RegExp(`could not be stored: ${KEY}\n$`));
    });

    it('rejects a malformed key', async () => {
      await assert.rejects(accept([201, { ...TAKEN, key: 'x' }]), /key/);
      assert.equal(stored.read(), undefined);
    });
  });
});

const INVITATION = `/invite/aB3_-aB3_-aB3_-aB3_-aB3_-aB3_-xy`;

/** A relay that accepts the key and the invitation. */
const startRelay = () =>
  startRestRelay((call) => (call.startsWith('POST /v1/invites/') ? [201, TAKEN] : [200, ACCOUNT]));

const read = (relay: string | undefined, env: Record<string, string> = {}, json = false) =>
  readAccessOrLogin({ options: { relay, json }, env, readLogin: () => stored.read() });

/** Types the answers at a terminal. */
async function complete(given: ReturnType<typeof read>, answers: string[], isInteractive = true) {
  const { printed, output } = record();
  const prompt = answering(isInteractive, ...answers);
  const { key } = await completeLogin(given, { stored, prompt, output });
  assert.equal(printed.out, '');
  return { key, err: printed.err };
}

describe('a first tunnel', () => {
  signedOut();

  it('asks for the key of the relay that is named, and stores it', async () => {
    const { address } = await startRelay();
    const { key, err } = await complete(read(address.origin), [KEY]);
    assert.equal(key, KEY);
    assert.deepEqual(stored.read(), { relay: address, key: KEY });
    assert.match(err, /^Signed in to http:\/\/127.* as default \(dev plan\)/);
    assert.equal(read(address.origin).login, undefined);
  });

  it('accepts an invitation instead of the relay, or of the key', async () => {
    const { address, calls } = await startRelay();
    for (const [relay, answers] of [
      [`${address.origin}${INVITATION}`, []],
      [address.origin, [`${address.origin}${INVITATION}`]],
    ] as const) {
      await stored.remove();
      calls.length = 0;
      assert.equal((await complete(read(relay), [...answers])).key, KEY);
      assert.deepEqual(stored.read(), { relay: address, key: KEY });
      const asked = calls.filter((call) => withoutBody(call) !== 'POST /v1/logins');
      assert.match(asked[0] ?? '', /^POST \/v1\/invites\//);
    }
  });

  it('uses an invitation once: later it stands for the relay', async () => {
    const { address } = await startRelay();
    await complete(read(`${address.origin}${INVITATION}`), []);
    const again = read(`${address.origin}${INVITATION}`);
    assert.deepEqual([again.login, again.key, again.relay.origin], [undefined, KEY, address.origin]);
  });

  it('does not send an invitation for another relay', async () => {
    const { address, calls } = await startRelay();
    await assert.rejects(
      complete(read(address.origin), [`https://other.example${INVITATION}`]),
      /^UsageError: The invitation is for https:\/\/other\.example, not for http:\/\/127/,
    );
    assert.deepEqual(calls.map(withoutBody), ['POST /v1/logins']);
  });

  it('sends no key to another machine without encryption', async () => {
    await assert.rejects(complete(read('http://192.0.2.7'), [KEY]), /is not encrypted/);
  });

  it('is an error without a terminal, or for a program', async () => {
    const at = 'https://relay.example';
    for (const [relay, json, isInteractive, error] of [
      [
        at,
        false,
        false,
        /^UsageError: There is no API key for https:\/\/relay\.example\. Run "culvert login"/,
      ],
      [at, true, true, /There is no API key/],
      [
        `${at}${INVITATION}`,
        false,
        false,
        /invitation can be accepted only in a terminal here\. Run "culvert login"/,
      ],
    ] as const)
      await assert.rejects(complete(read(relay, {}, json), [], isInteractive), error);
  });

  it('is an error if no relay was named', () => {
    assert.throws(
      () => read(undefined),
      (error) => error instanceof UsageError && /No relay is set up yet/.test(error.message),
    );
  });

  it('uses a key that is given', () => {
    assert.equal(read(`https://relay.example${INVITATION}`, { CULVERT_API_KEY: KEY }).key, KEY);
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoredLogin } from '../client/config/stored-login.ts';
import { UsageError } from '../client/failures.ts';
import { ACCOUNT } from '../testing/fake-platform.ts';
import { record } from '../testing/recorder.ts';
import { startRestRelay } from '../testing/rest-relay.ts';
import { closeServers } from '../testing/servers.ts';
import { completeLogin, readAccessOrLogin } from './first-login.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
const INVITATION = `/invite/aB3_-aB3_-aB3_-aB3_-aB3_-aB3_-xy`;

/** A relay that accepts the key and the invitation. */
async function startRelay() {
  return startRestRelay((call) =>
    call.startsWith('POST /v1/invites/')
      ? [201, { id: 'id', account: 'default', key: KEY, relay: 'http://relay.test' }]
      : [200, ACCOUNT],
  );
}

describe('a first tunnel', () => {
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

  const read = (relay: string | undefined, env: Record<string, string> = {}, json = false) =>
    readAccessOrLogin({ options: { relay, json }, env, readLogin: () => stored.read() });

  /** Types the answers at a terminal. */
  async function complete(given: ReturnType<typeof read>, answers: string[], isInteractive = true) {
    const { printed, output } = record();
    const ask = (): Promise<string> =>
      Promise.resolve(answers.shift() ?? assert.fail('asked once too often'));
    const prompt = { isInteractive, ask, askSecret: ask };
    const { key } = await completeLogin(given, { stored, prompt, output });
    assert.equal(printed.out, '');
    return { key, err: printed.err };
  }

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
      assert.match(calls[0] ?? '', /^POST \/v1\/invites\//);
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
    assert.deepEqual(calls, []);
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

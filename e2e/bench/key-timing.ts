/**
 * `node e2e/bench/key-timing.ts [--samples N]`, after `npm run build`: does the time of a refusal reveal how much of a
 * key was right? It sends keys that differ from a valid one only in their last character, and keys that differ as
 * little from one that was never issued, in random order, in this process and through a running relay. It prints
 * Welch's t for all times and without the slowest.
 *
 * Both kinds are derived the same way, because a text that resembles the preceding ones is refused slightly faster,
 * whether or not it is close to a valid key: against entirely random keys, both kinds show that difference (t = -5 for
 * the faster half).
 *
 * There should be no difference: a key is looked up by its SHA-256, so how far a look-up gets depends on bits of the
 * hash. An almost correct key has a hash as different as any other, and an attacker who could choose hashes could not
 * invert them.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createAccount, issueKey } from '../../server/accounts/accounts.ts';
import { generateKey } from '../../server/accounts/api-keys.ts';
import { Authenticator } from '../../server/accounts/authenticator.ts';
import { systemClock } from '../../server/clock.ts';
import { openSqlite } from '../../server/store/sqlite/open-sqlite.ts';
import type { Store } from '../../server/store/store.ts';
import { Relay } from '../support/programs.ts';
import { Scope } from '../support/scope.ts';
import { reportPairs, timePairs, type Times } from './stats.ts';

const KEYS = 1000;
const WARM_UP = 5000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Tries a key that is refused. */
type Refuse = (key: string) => Promise<unknown>;

const { values } = parseArgs({ options: { samples: { type: 'string', default: '100000' } } });
const samples = Number(values.samples);
const scope = new Scope();
try {
  reportPairs('in this process', await inThisProcess());
  reportPairs('through a relay', await throughRelay(scope));
} finally {
  await scope.end();
}

async function inThisProcess(): Promise<Times> {
  const store = await openSqlite(':memory:', () => {});
  const valid = await issueKeys(store);
  const authenticator = new Authenticator(store, systemClock, { note() {} });
  const times = await measure(valid, (key) =>
    authenticator.authenticate(`Bearer ${key}`).then(
      () => Promise.reject(new Error('a wrong key was taken')),
      () => undefined,
    ),
  );
  await store.close();
  return times;
}

async function throughRelay(within: Scope): Promise<Times> {
  const relay = await Relay.start(within);
  const store = await openSqlite(join(relay.dataDirectory, 'culvert.db'), () => {});
  const valid = await issueKeys(store);
  await store.close();
  const socket = connect({ port: relay.port, host: '127.0.0.1', noDelay: true });
  within.defer(() => socket.destroy());
  await once(socket, 'connect');
  return measure(valid, async (key) => {
    socket.write(`GET /v1/account HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    // A response this short arrives in one piece.
    const [response] = (await once(socket, 'data')) as [Buffer];
    if (!response.toString('latin1').startsWith('HTTP/1.1 401')) throw new Error(response.toString('latin1'));
  });
}

async function issueKeys(store: Store): Promise<string[]> {
  const account = await createAccount(store, systemClock, { name: 'timing', plan: 'dev', subdomain: null });
  const keys: string[] = [];
  for (let count = 0; count < KEYS; count += 1) keys.push((await issueKey(store, systemClock, account)).key);
  return keys;
}

/** @returns times of refusals: of keys near a valid one, and of keys near one that was never issued */
async function measure(valid: readonly string[], refuse: Refuse): Promise<Times> {
  const never = valid.map(() => generateKey());
  for (let count = 0; count < WARM_UP; count += 1) await refuse(generateKey());
  return await timePairs(
    samples,
    () => refuse(nearly(valid)),
    () => refuse(nearly(never)),
  );
}

/** One of the keys with a different last character. */
function nearly(keys: readonly string[]): string {
  const key = keys[Math.floor(Math.random() * keys.length)] ?? '';
  const others = BASE62.replace(key.slice(-1), '');
  return flat(key.slice(0, -1) + others.charAt(Math.floor(Math.random() * others.length)));
}

/** The same text as one flat string, like keys that come from the network. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/**
 * `node e2e/bench/password-timing.ts [--samples N]`, after `npm run build`: does the time of a refusal by the access
 * check reveal whether a user exists, or how much of a password was right? It tries wrong passwords of an existing and
 * of an unknown user, passwords with only the last character wrong, and entirely wrong ones. It measures the sequential
 * hashing, and the look-up in the cache of correct passwords, which contains one of that user. It prints Welch's t.
 */
import { parseArgs } from 'node:util';
import { PassedPasswords } from '../../server/access/access-check.ts';
import { PasswordHashes } from '../../server/access/password-hashes.ts';
import { reportPairs, timePairs } from './stats.ts';

const RIGHT = 'mild oak fern';
const NEARLY = 'mild oak ferm';
const WRONG = 'warm elm moss';
const WARM_UP = 5;
/** Cache look-ups per hash. A hash takes ten thousand times as long. */
const LOOKS = 1000;

const { values } = parseArgs({ options: { samples: { type: 'string', default: '300' } } });
const samples = Number(values.samples);

const hashes = new PasswordHashes();
const OWNER = { account: '', tunnel: '' };
const hash = await hashes.hash(RIGHT, OWNER);
const passed = new PassedPasswords();
passed.add('', 'v1', { user: 'ann', password: RIGHT });

/** Tries a password as the access check does. */
async function tried(user: string, password: string): Promise<void> {
  if (passed.has('v1', { user, password })) throw new Error('a wrong password was remembered');
  if (await hashes.matches(password, user === 'ann' ? hash : undefined, OWNER))
    throw new Error('it was right');
}

/** Only looks whether the password is cached. */
async function looked(user: string, password: string): Promise<void> {
  for (let count = 0; count < LOOKS; count += 1) passed.has('v1', { user, password });
  await Promise.resolve();
}

for (let count = 0; count < WARM_UP; count += 1) await tried('ann', WRONG);
reportPairs(
  'a user that exists, and one that does not',
  await timePairs(
    samples,
    () => tried('ann', WRONG),
    () => tried('bob', WRONG),
  ),
);
reportPairs(
  'nearly right, and wholly wrong',
  await timePairs(
    samples,
    () => tried('ann', NEARLY),
    () => tried('ann', WRONG),
  ),
);
for (let count = 0; count < WARM_UP; count += 1) await looked('ann', WRONG);
reportPairs(
  'nearly what is remembered, and nothing like it',
  await timePairs(
    samples,
    () => looked('ann', NEARLY),
    () => looked('bob', WRONG),
  ),
);

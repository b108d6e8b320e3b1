import assert from 'node:assert/strict';
import { signInProblems } from './sign-in.ts';

const KEY = `cvt_${'a'.repeat(32)}`;

describe('sign-in form', () => {
  it('finds nothing wrong with what a relay could accept', () => {
    assert.deepEqual(signInProblems(' https://relay.example.com ', ` ${KEY}\n`), {});
    assert.deepEqual(signInProblems('http://localhost:8080/v1', KEY), {});
  });

  it('says what is missing', () => {
    const problems = signInProblems('', ' ');
    assert.match(problems.relay ?? '', /address of your relay/);
    assert.match(problems.key ?? '', /Paste/);
  });

  it('distinguishes what is not a key from a key that is cut off', () => {
    assert.match(signInProblems('https://a', 'sk_live_1').key ?? '', /begins with cvt_/);
    assert.match(signInProblems('https://a', KEY.slice(0, -1)).key ?? '', /not complete/);
  });

  it('takes an address without its scheme, and refuses what is not a web address', () => {
    assert.deepEqual(signInProblems('relay.example.com', KEY), {});
    assert.deepEqual(signInProblems('localhost:8080', KEY), {});
    for (const relay of ['ftp://relay.example.com', 'my relay', 'https://']) {
      assert.match(signInProblems(relay, KEY).relay ?? '', /not a relay's address/, relay);
    }
  });
});

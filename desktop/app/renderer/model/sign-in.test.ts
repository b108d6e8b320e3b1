import assert from 'node:assert/strict';
import { exampleSignIn, exampleSnapshot } from '../../../testing/views.ts';
import type { Snapshot } from '../../ipc/snapshot.ts';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import { pastedInvitation, signInProblems, signInWords, stayingWords } from './sign-in.ts';

const KEY = `cvt_${'a'.repeat(32)}`;

describe('sign-in form', () => {
  it('accepts everything that a relay could accept', () => {
    assert.deepEqual(signInProblems(' https://relay.example.com ', ` ${KEY}\n`), {});
    assert.deepEqual(signInProblems('http://localhost:8080/v1', KEY), {});
  });

  it('reports missing fields', () => {
    const problems = signInProblems('', ' ');
    assert.match(problems.relay ?? '', /address of your relay/);
    assert.match(problems.key ?? '', /Paste/);
  });

  it('distinguishes an invalid key from an incomplete one', () => {
    assert.match(signInProblems('https://a', 'sk_live_1').key ?? '', /begins with cvt_/);
    assert.match(signInProblems('https://a', KEY.slice(0, -1)).key ?? '', /incomplete/);
  });

  it('accepts an address without its scheme, and rejects anything but a web address', () => {
    assert.deepEqual(signInProblems('relay.example.com', KEY), {});
    assert.deepEqual(signInProblems('localhost:8080', KEY), {});
    for (const relay of ['ftp://relay.example.com', 'my relay', 'https://']) {
      assert.match(signInProblems(relay, KEY).relay ?? '', /not the address of a relay/, relay);
    }
  });
});

const TOKEN = 'aB3_-'.repeat(6) + 'xy';
const INVITATION = {
  id: 'i',
  relay: 'https://other.example.com',
  state: 'open',
  account: 'acme',
  endsAt: 0,
  keeps: ['system'],
} as const;

describe('an invitation', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('is recognised in a field, with or without its scheme', () => {
    for (const address of [
      `https://relay.example.com/invite/${TOKEN}`,
      `relay.example.com/invite/${TOKEN}`,
      `localhost:8080/invite/${TOKEN}`,
    ])
      assert.equal(pastedInvitation(` ${address}\n`), address);
    for (const other of [
      '',
      'cvt_0123',
      'https://relay.example.com',
      `https://relay.example.com/invite/${TOKEN}x`,
      'https://',
    ])
      assert.equal(pastedInvitation(other), undefined, other);
  });

  it('says what becomes of the current sign-in', () => {
    const signIn = exampleSignIn();
    const words = (invitation: Parameters<typeof stayingWords>[0], changes: Partial<Snapshot> = {}) =>
      stayingWords(invitation, exampleSnapshot({ signIns: [signIn], ...changes }));
    assert.equal(
      words(INVITATION),
      'You stay signed in as acme · tunnels.example.com, and your tunnels there keep running.',
    );
    const same = { ...INVITATION, relay: 'https://tunnels.example.com' };
    assert.match(words(same) ?? '', /already/);
    assert.match(words({ ...same, account: 'other' }) ?? '', /stay signed in/);
    const session = { state: 'signing-in', relay: 'https://x.example.com' } as const;
    assert.equal(words(INVITATION, { session, signIns: [] }), undefined);
    assert.equal(words({ ...INVITATION, state: 'looking' }), undefined);
  });
});

describe('several sign-ins', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('are named by account and relay, with their tunnels', () => {
    const all = [
      exampleSignIn({ running: 0 }),
      exampleSignIn({ running: 2 }),
      exampleSignIn({ running: 1, isTroubled: true }),
      exampleSignIn({ isSignedIn: false, isTroubled: true }),
    ];
    const words = (signIns = all) => signIns.map((signIn) => signInWords(signIn));
    assert.deepEqual(words(), [
      'acme · tunnels.example.com (no tunnels)',
      'acme · tunnels.example.com (2 running)',
      'acme · tunnels.example.com (1 running, needs attention)',
      'acme · tunnels.example.com (signed out)',
    ]);
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.deepEqual(words(all.slice(0, 3)), [
      'acme · tunnels.example.com (keine Tunnel)',
      'acme · tunnels.example.com (2 laufen)',
      'acme · tunnels.example.com (1 läuft, braucht Aufmerksamkeit)',
    ]);
  });
});

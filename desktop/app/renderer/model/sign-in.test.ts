import assert from 'node:assert/strict';
import { exampleSnapshot, exampleTunnel } from '../../../testing/views.ts';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import { leavingWords, pastedInvitation, signInProblems } from './sign-in.ts';

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

  it('warns about what it ends', () => {
    const ended = exampleTunnel({ status: { name: 'ended', reason: 'stopped', why: '' } });
    const words = (...tunnels: (typeof ended)[]) => leavingWords(INVITATION, exampleSnapshot({ tunnels }));
    assert.equal(
      words(),
      'You are signed in to tunnels.example.com as acme. If you accept, you will be signed out there. You can undo this within 8 s.',
    );
    assert.match(words(exampleTunnel(), ended) ?? '', /out there and your tunnel will be closed\. You/);
    assert.match(words(exampleTunnel(), exampleTunnel()) ?? '', /your 2 tunnels will be closed\./);
    const same = { ...INVITATION, relay: 'https://tunnels.example.com' };
    assert.match(leavingWords(same, exampleSnapshot()) ?? '', /already/);
    assert.match(
      leavingWords({ ...same, account: 'other' }, exampleSnapshot()) ?? '',
      /you will be signed out/,
    );
    const session = { state: 'signing-in', relay: 'https://x.example.com' } as const;
    assert.equal(leavingWords(INVITATION, exampleSnapshot({ session })), undefined);
  });

  it('counts in German what it closes', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const [none, one, two] = [0, 1, 2].map((count) => {
      const tunnels = Array.from({ length: count }, () => exampleTunnel());
      return leavingWords(INVITATION, exampleSnapshot({ tunnels })) ?? '';
    });
    assert.match(none ?? '', /dort abgemeldet; das/);
    assert.match(one ?? '', /und Ihr Tunnel wird geschlossen; das/);
    assert.match(two ?? '', /und Ihre 2 Tunnel werden geschlossen; das/);
  });
});

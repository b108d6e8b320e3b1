/** The way of a sign-in through the browser. What the provider's answers prove is in identity-provider.test.ts. */
import assert from 'node:assert/strict';
import { SignInFixture } from '../testing/fake-provider.ts';
import { anAccess } from '../testing/fixtures.ts';
import { QUERY_MAX_LENGTH } from '../oauth/authorization-request.ts';
import { AccessPolicy } from './access-policy.ts';
import { isAdmitted, shownVisitor } from './access-check.ts';
import {
  ARRIVAL_PARAMETER,
  ARRIVAL_SECONDS,
  CALLBACK_PATH,
  type Place,
  SIGN_IN_PATH,
  SIGN_IN_SECONDS,
  type Step,
  WANTED_MAX_LENGTH,
} from './sign-in.ts';

const TUNNEL = 'tunnel-1';
const HOST = 'a.tunnels.test';
const PLACE: Place = { tunnelId: TUNNEL, host: HOST, prefix: '', target: '/a?b=c' };
/** cookies: at the tunnel's host, and at the relay's */
const HERE = 'cookie at the tunnel';
const AT_RELAY = 'cookie at the relay';

describe('a sign-in', () => {
  let fixture: SignInFixture;
  let policy: AccessPolicy;

  beforeEach(async () => {
    fixture = new SignInFixture();
    allow('*@example.com');
    await fixture.provider.start();
  });

  function allow(...rules: string[]): void {
    policy = new AccessPolicy(anAccess({ sign_in: rules }));
    fixture.tunnels.set(TUNNEL, { access: policy, isAt: ({ host }) => host === HOST || host === null });
  }

  async function depart(place = PLACE, relayBrowser = AT_RELAY, isOther = false): Promise<string> {
    const begin = new URL(fixture.signIn.begin(place, HERE, isOther));
    assert.equal(`${begin.origin}${begin.pathname}`, `https://relay.test${SIGN_IN_PATH}`);
    return onward(await fixture.signIn.depart(begin.searchParams, relayBrowser));
  }

  /** @returns the address at the tunnel that the browser is sent to */
  async function through(place = PLACE): Promise<URL> {
    const back = fixture.fake.signIn(await depart(place));
    assert.equal(`${back.origin}${back.pathname}`, `https://relay.test${CALLBACK_PATH}`);
    return new URL(onward(await fixture.finish(back, AT_RELAY)));
  }

  async function arrive(address: URL, browser = HERE, place: Omit<Place, 'target'> = PLACE) {
    return await fixture.signIn.arrive(tokenOf(address), place, [browser]);
  }

  it('leads back to the wanted address, and says who is there', async () => {
    const address = await through();
    assert.ok(address.href.startsWith(`https://${HOST}/a?b=c&${ARRIVAL_PARAMETER}=`), address.href);
    const visitor = (await arrive(address)) ?? assert.fail('nobody');
    assert.equal(shownVisitor(visitor), 'user:ann@example.com');
    assert.ok(isAdmitted(policy, visitor));
    allow('bob@example.com');
    assert.ok(!isAdmitted(policy, visitor));
  });

  it('tells neither the provider nor proxies where it leads or who it is', async () => {
    const asked = await depart();
    const address = await through();
    for (const text of [asked, tokenOf(address)])
      // Long enough not to occur by chance.
      for (const word of ['ann@example.com', HOST, TUNNEL, '/a?b'])
        for (const form of [text, Buffer.from(text, 'base64url').toString('latin1')])
          assert.ok(!form.includes(word), `${word} in ${text}`);
    assert.deepEqual(
      fixture.logged.map(([event]) => event),
      ['identity provider found'],
    );
  });

  it('leads back to a port of the relay, to the path form, and to a page of the relay', async () => {
    fixture.publicUrl = new URL('http://relay.test:8080');
    const back = async (place: Place): Promise<string> => {
      const { href } = new URL(
        onward(await fixture.finish(fixture.fake.signIn(await depart2(place)), AT_RELAY)),
      );
      return href.slice(0, href.indexOf(ARRIVAL_PARAMETER) - 1);
    };
    const depart2 = async (place: Place): Promise<string> => {
      const { searchParams } = new URL(fixture.signIn.begin(place, HERE, false));
      return onward(await fixture.signIn.depart(searchParams, AT_RELAY));
    };
    assert.equal(await back(PLACE), `http://${HOST}:8080/a?b=c`);
    const path = { ...PLACE, host: null, prefix: '/t/a' };
    assert.equal(await back(path), 'http://relay.test:8080/t/a/a?b=c');
    const target = `/oauth/authorize?x=${'y'.repeat(QUERY_MAX_LENGTH)}`;
    assert.equal(await back({ ...PLACE, host: null, target }), `http://relay.test:8080${target}`);
    const raw = { ...PLACE, host: null, target: '/login/\r\nX: y' };
    assert.equal(await back(raw), 'http://relay.test:8080/login/%0d%0aX:%20y');
  });

  for (const [target, expected] of [
    ['//evil.example/', `https://${HOST}//evil.example/`],
    ['/\\evil.example', `https://${HOST}/\\evil.example`],
    ['/@evil.example', `https://${HOST}/@evil.example`],
    ['/\u00e9\r\nLocation: x', `https://${HOST}/%e9%0d%0aLocation:%20x`],
    [`/${'a'.repeat(WANTED_MAX_LENGTH)}`, `https://${HOST}/`],
    [`/a?${'b'.repeat(WANTED_MAX_LENGTH)}`, `https://${HOST}/a`],
  ] as const)
    it(`stays at the tunnel with ${JSON.stringify(target.slice(0, 30))}`, async () => {
      const location = onward(
        await fixture.finish(fixture.fake.signIn(await depart({ ...PLACE, target })), AT_RELAY),
      );
      assert.match(location, /^[!-~]+$/);
      const wanted = location.slice(0, location.indexOf(ARRIVAL_PARAMETER) - 1);
      assert.equal(wanted, expected);
      assert.equal(new URL(location).host, HOST);
    });

  it('does not lead to a host that the tunnel no longer has, or to a tunnel that has ended', async () => {
    const back = fixture.fake.signIn(await depart());
    fixture.tunnels.set(TUNNEL, { access: policy, isAt: () => false });
    assert.equal((await fixture.finish(back, AT_RELAY)).kind, 'failed');
    const again = fixture.fake.signIn(await depart());
    fixture.tunnels.clear();
    assert.equal((await fixture.finish(again, AT_RELAY)).kind, 'failed');
  });

  it('leads on without an identity where nobody can sign in any more', async () => {
    for (const access of [undefined, new AccessPolicy(anAccess({ password: 'hash' }))]) {
      const back = fixture.fake.signIn(await depart());
      fixture.tunnels.set(TUNNEL, { access, isAt: () => true });
      assert.equal(onward(await fixture.finish(back, AT_RELAY)), `https://${HOST}/a?b=c`);
    }
  });

  it('cannot begin with an address that the relay has not made', async () => {
    const { searchParams } = new URL(fixture.signIn.begin(PLACE, HERE, false));
    const ticket = searchParams.get('ticket') ?? assert.fail();
    const state = fixture.seals.seal('state', { place: PLACE, browser: HERE, isOther: false }, 60);
    for (const query of ['', 'ticket=', 'ticket=x', `ticket=${state}`, `ticket=${ticket}&ticket=${ticket}`])
      assert.deepEqual(await fixture.signIn.depart(new URLSearchParams(query), AT_RELAY), {
        kind: 'failed',
        again: undefined,
      });
  });

  describe('that comes back from the provider', () => {
    const failed = { kind: 'failed', again: `https://${HOST}/a?b=c` };

    it('fails with a state that the relay has not made', async () => {
      const back = fixture.fake.signIn(await depart());
      const state = back.searchParams.get('state') ?? assert.fail();
      const ticket = new URL(fixture.signIn.begin(PLACE, HERE, false)).searchParams.get('ticket') ?? '';
      for (const wrong of ['', 'x', ticket, `${state.slice(0, -2)}xx`]) {
        back.searchParams.set('state', wrong);
        assert.deepEqual(await fixture.finish(back, AT_RELAY), { kind: 'failed', again: undefined });
      }
      back.searchParams.set('state', state);
      back.searchParams.append('state', state);
      assert.deepEqual(await fixture.finish(back, AT_RELAY), { kind: 'failed', again: undefined });
      assert.equal(fixture.fake.lastToken, undefined);
    });

    it('fails in another browser, and still works in the one that began', async () => {
      const back = fixture.fake.signIn(await depart());
      assert.deepEqual(await fixture.finish(back, 'another'), failed);
      assert.deepEqual(await fixture.signIn.finish(back.searchParams, [], 'x'), failed);
      assert.equal(fixture.fake.lastToken, undefined);
      onward(await fixture.signIn.finish(back.searchParams, ['planted', AT_RELAY], 'x'));
    });

    it('fails for the second time, whatever code it has, and at the same time', async () => {
      const asked = await depart();
      const back = fixture.fake.signIn(asked);
      const steps = await Promise.all([fixture.finish(back, AT_RELAY), fixture.finish(back, AT_RELAY)]);
      assert.deepEqual(
        steps.map(({ kind }) => kind),
        ['onward', 'failed'],
      );
      // Another code for the same state.
      assert.deepEqual(await fixture.finish(fixture.fake.signIn(asked), AT_RELAY), failed);
      fixture.clock.advance((SIGN_IN_SECONDS - 1) * 1000);
      assert.deepEqual(await fixture.finish(fixture.fake.signIn(asked), AT_RELAY), failed);
    });

    it('fails for the second time after a code that was wrong', async () => {
      const asked = await depart();
      const back = fixture.fake.signIn(asked, { code: 'wrong' });
      assert.deepEqual(await fixture.finish(back, AT_RELAY), failed);
      assert.deepEqual(await fixture.finish(fixture.fake.signIn(asked), AT_RELAY), failed);
    });

    it('fails after 10 minutes, and works a moment before', async () => {
      const early = fixture.fake.signIn(await depart());
      fixture.clock.advance(SIGN_IN_SECONDS * 1000 - 1);
      onward(await fixture.finish(early, AT_RELAY));
      const late = fixture.fake.signIn(await depart());
      fixture.clock.advance(SIGN_IN_SECONDS * 1000);
      assert.deepEqual(await fixture.finish(late, AT_RELAY), failed);
    });

    it('fails with the code of another sign-in', async () => {
      const mine = fixture.fake.signIn(await depart());
      const theirs = fixture.fake.signIn(await depart(PLACE, 'their cookie'));
      mine.searchParams.set('code', theirs.searchParams.get('code') ?? '');
      assert.deepEqual(await fixture.finish(mine, AT_RELAY), failed);
      assert.deepEqual(fixture.logged.at(-1), ['sign-in failed', { reason: 'invalid_grant' }]);
    });

    it('fails without anybody', async () => {
      fixture.fake.claims = { sub: 'x'.repeat(256) };
      assert.deepEqual(await fixture.finish(fixture.fake.signIn(await depart()), AT_RELAY), failed);
    });

    it('works in two tabs, and after 2,000 others have begun', async () => {
      const [one, two] = [fixture.fake.signIn(await depart()), fixture.fake.signIn(await depart())];
      for (let count = 0; count < 2000; count += 1) await depart(PLACE, `other ${count}`);
      for (const back of [two, one]) onward(await fixture.finish(back, AT_RELAY));
    });
  });

  describe('while the provider is away', () => {
    it('cannot begin, and says so at the end', async () => {
      const away = new SignInFixture();
      assert.ok(!away.signIn.isReady);
      assert.equal(away.signIn.offered, 'Example');
      const { searchParams } = new URL(away.signIn.begin(PLACE, HERE, false));
      const again = `https://${HOST}/a?b=c`;
      assert.deepEqual(await away.signIn.depart(searchParams, AT_RELAY), { kind: 'unavailable', again });
      const back = fixture.fake.signIn(await depart());
      fixture.fake.answers['/token'] = () => new Response('', { status: 502 });
      assert.deepEqual(await fixture.finish(back, AT_RELAY), { kind: 'unavailable', again });
      assert.deepEqual(fixture.logged.at(-1)?.[0], 'identity provider failing');
    });
  });

  describe('that comes back to the tunnel', () => {
    it('counts once, also at the same time', async () => {
      const address = await through();
      const visitors = await Promise.all([arrive(address), arrive(address)]);
      assert.ok(visitors[0] !== undefined && visitors[1] === undefined);
      assert.equal(await arrive(address), undefined);
      assert.ok(fixture.signIn.isArrival(tokenOf(address)));
      assert.ok(!fixture.signIn.isArrival('x'));
    });

    it('counts for 60 s', async () => {
      const [early, late] = [await through(), await through()];
      fixture.clock.advance(ARRIVAL_SECONDS * 1000 - 1);
      assert.ok((await arrive(early)) !== undefined);
      fixture.clock.advance(1);
      assert.equal(await arrive(late), undefined);
    });

    it('counts only in the browser that began there, and is not used up by another', async () => {
      const address = await through();
      assert.equal(await arrive(address, 'another'), undefined);
      assert.equal(await fixture.signIn.arrive(tokenOf(address), PLACE, []), undefined);
      assert.ok((await arrive(address)) !== undefined);
    });

    it('counts only at its tunnel, host and form', async () => {
      for (const wrong of [
        { tunnelId: 'other' },
        { host: 'b.tunnels.test' },
        { host: null },
        { prefix: '/t/a' },
      ])
        assert.equal(await arrive(await through(), HERE, { ...PLACE, ...wrong }), undefined);
    });

    it('does not count with a state or a ticket', async () => {
      const { searchParams } = new URL(fixture.signIn.begin(PLACE, HERE, false));
      const ticket = searchParams.get('ticket') ?? '';
      assert.equal(await fixture.signIn.arrive(ticket, PLACE, [HERE]), undefined);
    });
  });
});

function onward(step: Step): string {
  assert.equal(step.kind, 'onward', JSON.stringify(step));
  return step.kind === 'onward' ? step.location : assert.fail();
}

function tokenOf(address: URL): string {
  return address.searchParams.get(ARRIVAL_PARAMETER) ?? assert.fail(address.href);
}

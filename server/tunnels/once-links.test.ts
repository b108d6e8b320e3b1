import assert from 'node:assert/strict';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import { OnceLinks } from './once-links.ts';

const TUNNEL = { id: 'one', account: { id: 'acme', name: 'acme' }, terms: {} } as unknown as LiveTunnel;

describe('OnceLinks', () => {
  let asked: string[];
  let logged: string[];
  let answer: Promise<string | undefined> | undefined;
  let links: OnceLinks;

  beforeEach(() => {
    asked = [];
    logged = [];
    answer = undefined;
    links = new OnceLinks({
      store: {
        takeLink({ id }, browser) {
          asked.push(id);
          return answer ?? Promise.resolve(browser);
        },
      },
      clock: new FakeClock(),
      log: (event) => logged.push(event),
    });
  });

  it('ask the store once, however many browsers come', async () => {
    const uses = await Promise.all(['a', 'b', 'b'].map((browser) => links.use(TUNNEL, 'link', browser)));
    assert.deepEqual(uses, ['first', 'used', 'used']);
    assert.equal(await links.use(TUNNEL, 'link', 'a'), 'first');
    assert.equal(links.isKnownUsed('link'), true);
    assert.deepEqual([asked, logged], [['link'], ['link used']]);
  });

  it('are used for all browsers if another relay has let one in', async () => {
    answer = Promise.resolve('the digest of another browser');
    assert.equal(await links.use(TUNNEL, 'link', 'a'), 'used');
    assert.deepEqual(logged, []);
  });

  it('are asked for again if the store has failed, or did not know the link', async () => {
    answer = Promise.reject(new Error('away'));
    await assert.rejects(links.use(TUNNEL, 'link', 'a'), /away/);
    answer = Promise.resolve(undefined);
    assert.equal(await links.use(TUNNEL, 'link', 'a'), 'ended');
    answer = undefined;
    assert.equal(await links.use(TUNNEL, 'link', 'a'), 'first');
    assert.equal(asked.length, 3);
  });
});

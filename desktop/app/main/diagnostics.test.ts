import assert from 'node:assert/strict';
import { localPort } from '../../client/local/local-service.ts';
import type { HopResult } from '../../client/diagnostics/hop.ts';
import { type App, failsWith, FORM, signedIn, start, until } from '../../testing/core-app.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { POLL_VISIBLE_MS } from './core.ts';

const DNS: HopResult = { hop: 'dns', result: 'ok', ms: 3, detail: 'relay.example.com is 192.0.2.1' };
const CONNECT: HopResult = {
  hop: 'connect',
  result: 'failed',
  ms: 9,
  detail: 'port 443: nothing listens there',
  fix: 'See that culvert-relay runs there.',
};

function shown({ core }: App) {
  return core.snapshots.make().diagnostics;
}

/** The check that is under way. */
function current({ examined }: App) {
  const last = examined.at(-1);
  assert.ok(last);
  return last;
}

describe('diagnostics', () => {
  it('show each hop as it is checked, and then the end', async () => {
    const app = await signedIn();
    assert.equal(shown(app), undefined);
    await app.call('checkup:start', { key: undefined });
    const view = shown(app);
    assert.deepEqual(view, { id: view?.id, slug: undefined, results: [], isRunning: true });
    const { tell, end, connection, local } = current(app);
    assert.deepEqual([connection.relay.origin, local], ['https://relay.example.com', undefined]);
    tell(DNS);
    assert.deepEqual(shown(app)?.results, [DNS]);
    tell(CONNECT);
    end(false);
    await until(() => shown(app)?.isRunning === false || undefined);
    assert.deepEqual(shown(app)?.results, [DNS, CONNECT]);
  });

  it('continue to the local port of the failing tunnel', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', { ...FORM, port: 4321, name: 'shop' });
    await app.call('checkup:start', { key });
    assert.deepEqual([current(app).local, shown(app)?.slug], [localPort(4321), 'shop']);
    await assert.rejects(app.call('checkup:start', { key: 'gone' }), failsWith('no-such-tunnel'));
  });

  it('stop when they are closed or restarted', async () => {
    const app = await signedIn();
    await app.call('checkup:start', { key: undefined });
    const first = current(app);
    await app.call('checkup:start', { key: undefined });
    assert.equal(first.interrupted.aborted, true);
    first.tell(CONNECT);
    first.end(false);
    current(app).tell(DNS);
    assert.deepEqual([shown(app)?.results, shown(app)?.isRunning], [[DNS], true]);
    await app.call('checkup:stop', undefined);
    assert.deepEqual([current(app).interrupted.aborted, shown(app)], [true, undefined]);
  });

  it('end and report it when a check throws', async () => {
    const app = await signedIn();
    await app.call('checkup:start', { key: undefined });
    current(app).fail(new Error('a bug'));
    await until(() => shown(app)?.isRunning === false || undefined);
    assert.match(app.seen.reports.join(), /finding out why: Error: a bug/);
  });

  it('end with the sign-out, and need a relay', async () => {
    const app = await signedIn();
    await app.call('checkup:start', { key: undefined });
    await app.call('session:sign-out', {});
    assert.deepEqual([current(app).interrupted.aborted, shown(app)], [true, undefined]);
    await assert.rejects((await start()).call('checkup:start', { key: undefined }), failsWith('signed-out'));
  });

  it("do not list their own test tunnel among other clients' tunnels", async () => {
    const app = await signedIn();
    app.core.setVisible(true);
    await app.call('checkup:start', { key: undefined });
    app.api.tunnels = [{ ...TUNNEL, id: '7c9e6679-7425-40de-944b-00000000000e' }];
    const asked = app.api.calls.length;
    app.clock.advance(POLL_VISIBLE_MS);
    await until(() => app.api.calls.length > asked || undefined);
    await until(() => app.clock.waiting.includes(POLL_VISIBLE_MS) || undefined);
    assert.deepEqual(app.core.snapshots.make().others, []);
  });
});

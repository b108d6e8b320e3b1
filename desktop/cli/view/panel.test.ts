import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { localPort } from '../../client/local/local-service.ts';
import { APPROVAL_WAIT_MS } from '../../client/host/approval-requests.ts';
import { record } from '../../testing/command-context.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { fakeServed } from '../../testing/served.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { Panel } from './panel.ts';

function setUp({ isReachable = true } = {}) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const answered: unknown[] = [];
  const panel = new Panel({
    spec: { ...SPEC, label: 'web', target: { ...localPort(3000), host: '::1', https: true } },
    clock,
    api: {
      now: () => clock.now(),
      extendTunnel: () => Promise.resolve(TUNNEL),
      getTunnel(id) {
        asked.push(id);
        const now = { ...TUNNEL, requests: asked.length };
        return isReachable ? Promise.resolve(now) : Promise.reject(new Error('away'));
      },
      answerKnock(id, knock, admit) {
        answered.push([id, knock, admit]);
        return isReachable ? Promise.resolve() : Promise.reject(new Error('away'));
      },
    },
  });
  const { served, serve, connection } = fakeServed({}, { clock });
  served.serve(connection);
  /** Visitors have reached the tunnel. */
  const online = (): void => {
    panel.opened(served);
    panel.online();
  };
  const visit = (): void => served.log.open().toLocal(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
  return { clock, panel, online, served, serve, asked, answered, visit };
}

describe('Panel', () => {
  it('shows the target of the tunnel', () => {
    assert.equal(setUp().panel.state(5).localUrl, 'https://[::1]:3000');
  });

  it('counts a request before the relay has, and says how fast relay and service are', async () => {
    const { clock, panel, online, visit, served } = setUp();
    online();
    panel.state(5);
    await turn();
    for (let count = 0; count < 3; count += 1) visit();
    assert.equal(panel.state(5).tunnel?.requests, 3);
    const recording = served.log.open();
    recording.toLocal(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    clock.advance(40);
    recording.toVisitor(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    assert.deepEqual(panel.state(5).latency, { relayMs: 0, p50Ms: 40, p90Ms: 40 });
  });

  it('asks the relay immediately, every 10 s, and 2 s after requests', async () => {
    const { clock, panel, online, asked, visit } = setUp();
    const lookAfter = async (ms: number): Promise<number> => {
      clock.advance(ms);
      panel.state(5);
      await turn();
      return asked.length;
    };
    assert.equal(await lookAfter(0), 0, 'not without a tunnel');
    online();
    assert.equal(await lookAfter(0), 1);
    assert.equal(panel.state(5).tunnel?.requests, 1);
    assert.equal(await lookAfter(9999), 1);
    assert.equal(await lookAfter(1), 2);
    visit();
    assert.equal(await lookAfter(1999), 2);
    assert.equal(await lookAfter(1), 3);
    assert.equal(await lookAfter(9999), 3);
    panel.reconnecting(1, 500, 'Away.');
    assert.equal(await lookAfter(60_000), 3, 'not while the relay is away');
  });

  it('keeps its data if the relay does not respond', async () => {
    const { clock, panel, online, asked } = setUp({ isReachable: false });
    online();
    panel.state(5);
    await turn();
    clock.advance(10_000);
    assert.deepEqual(panel.state(5).tunnel, TUNNEL);
    assert.equal(asked.length, 2);
  });

  it('shows a problem for 30 s after its last occurrence, and none with visitors that left', () => {
    const { clock, panel } = setUp();
    const refused = { code: 'local-refused', text: 'Nothing answers.' } as const;
    panel.problem(refused);
    clock.advance(29_999);
    panel.problem(refused);
    clock.advance(29_999);
    assert.equal(panel.state(5).problem, 'Nothing answers.');
    clock.advance(1);
    assert.equal(panel.state(5).problem, undefined);
    panel.problem({ code: 'visitor-gone', text: 'Gone.' });
    assert.equal(panel.state(5).problem, undefined);
  });

  it('shows an approval request until it is answered, here or in the window, or has expired', async () => {
    const { clock, panel, online, served, serve, answered } = setUp();
    const waiting = () => panel.state(5).knocks;
    online();
    for (const id of ['k1', 'k2', 'k3']) serve.knock(id);
    const [, second] = waiting();
    assert.ok(second);
    panel.answerKnock(second, true);
    panel.answerKnock(second, false);
    await turn();
    assert.deepEqual(answered, [[TUNNEL.id, 'k2', true]]);
    served.answered('k3');
    clock.advance(APPROVAL_WAIT_MS - 1);
    assert.deepEqual(
      waiting().map(({ id }) => id),
      ['k1'],
    );
    clock.advance(1);
    assert.deepEqual([waiting(), panel.state(5).problem], [[], undefined]);
  });

  it('reports that an answer did not arrive', async () => {
    const { panel, online, serve } = setUp({ isReachable: false });
    online();
    serve.knock('k1');
    for (const request of panel.state(5).knocks) panel.answerKnock(request, true);
    await turn();
    assert.equal(panel.state(5).problem, '192.0.2.7 could not be approved. away.');
  });

  it('learns that the account keeps the name', () => {
    const { panel, online } = setUp();
    online();
    assert.equal(panel.state(5).isNameKept, false);
    panel.kept({
      name: 'my-app',
      created_at: TUNNEL.created_at,
      away: null,
      until: null,
      tunnel_id: TUNNEL.id,
    });
    assert.equal(panel.state(5).isNameKept, true);
  });

  it('follows the tunnel to its end, and reports that afterwards', () => {
    const { panel } = setUp();
    const { printed, output } = record();
    panel.sayEnd(output);
    panel.reconnecting(1, 500, 'Away.');
    assert.deepEqual(panel.state(5).status, { name: 'reconnecting', retryAt: 500, why: 'Away.' });
    panel.offline('expired', 'The tunnel has expired.');
    assert.equal(panel.state(5).status.name, 'ended');
    panel.sayEnd(output);
    assert.deepEqual(printed, { out: '', err: 'culvert: web: The tunnel has expired.\n' });
  });
});

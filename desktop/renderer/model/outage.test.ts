import assert from 'node:assert/strict';
import { exampleSnapshot, exampleTunnel } from '../../testing/views.ts';
import { outageView } from './outage.ts';

const WHY = 'No connection to the relay: the connection was reset.';
const lost = (key: string, retryAt: number) =>
  exampleTunnel({ key, status: { name: 'reconnecting', retryAt, why: WHY } });

describe('an outage', () => {
  it('is the network, if there is none', () => {
    const view = outageView(exampleSnapshot({ hasNetwork: false, tunnels: [lost('a', 5)] }));
    assert.match(view?.text ?? '', /no network/);
    assert.equal(view?.retryAt, undefined);
  });

  it('is the relay, with the time of the next attempt', () => {
    const { session } = exampleSnapshot();
    assert.ok(session.state === 'signed-in');
    const problem = { code: 'unreachable', text: 'The relay cannot be reached.' };
    const tunnels = [lost('a', 9), lost('b', 5)];
    assert.deepEqual(outageView(exampleSnapshot({ session: { ...session, problem }, tunnels })), {
      text: problem.text,
      retryAt: 5,
    });
    assert.deepEqual(outageView(exampleSnapshot({ tunnels })), { text: WHY, retryAt: 5 });
  });

  it('is none if a single tunnel is lost, or nothing is', () => {
    assert.equal(
      outageView(exampleSnapshot({ tunnels: [lost('a', 5), exampleTunnel({ key: 'b' })] })),
      undefined,
    );
    assert.equal(outageView(exampleSnapshot()), undefined);
  });
});

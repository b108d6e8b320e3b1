import assert from 'node:assert/strict';
import type { HopResult } from '../../../client/diagnostics/hop.ts';
import { exampleSnapshot, exampleTunnel } from '../../../testing/views.ts';
import { diagnosticsWords, hopWords, nextHop, outageView } from './diagnostics.ts';

const hop = (name: string, result: HopResult['result']): HopResult => ({
  hop: name,
  result,
  ms: 1,
  detail: '',
});
const checkupView = (isRunning: boolean, ...results: HopResult[]) => ({
  id: 'c',
  slug: undefined,
  isRunning,
  results,
});

describe('diagnostics', () => {
  it('show the current check', () => {
    assert.equal(nextHop(checkupView(true)), 'Relay address');
    assert.equal(nextHop(checkupView(true, hop('dns', 'skipped'))), 'Network connection');
    assert.equal(nextHop(checkupView(false)), undefined);
    assert.equal(hopWords('new-one'), 'new-one');
  });

  it('report a failure immediately, and success only at the end', () => {
    assert.match(diagnosticsWords(checkupView(true, hop('dns', 'ok'))), /^Checking/);
    assert.equal(
      diagnosticsWords(checkupView(true, hop('connect', 'failed'), hop('trunk', 'skipped'))),
      'Failed: Network connection.',
    );
    assert.equal(
      diagnosticsWords(checkupView(false, hop('dns', 'failed'), hop('local', 'failed'))),
      'Failed: Relay address, Your server.',
    );
    assert.equal(
      diagnosticsWords(checkupView(false, hop('dns', 'ok'), hop('local', 'skipped'))),
      'Everything works.',
    );
    assert.equal(diagnosticsWords(checkupView(false)), 'The check could not be run.');
  });
});

const WHY = 'No connection to the relay: the connection was reset.';
const lost = (key: string, retryAt: number) =>
  exampleTunnel({ key, status: { name: 'reconnecting', retryAt, why: WHY } });

describe('an outage', () => {
  it('is caused by the network, if it is missing', () => {
    const view = outageView(exampleSnapshot({ hasNetwork: false, tunnels: [lost('a', 5)] }));
    assert.match(view?.text ?? '', /no network/);
    assert.equal(view?.retryAt, undefined);
  });

  it('is caused by the relay, with the time of the next attempt', () => {
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

  it('is not reported if only one tunnel is lost, or none', () => {
    assert.equal(
      outageView(exampleSnapshot({ tunnels: [lost('a', 5), exampleTunnel({ key: 'b' })] })),
      undefined,
    );
    assert.equal(outageView(exampleSnapshot()), undefined);
  });
});

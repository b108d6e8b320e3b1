import assert from 'node:assert/strict';
import { TUNNEL } from '../../testing/fake-platform.ts';
import type { ConnectionProblem } from '../../client/visitors/connections.ts';
import { fakeServed } from '../../testing/served.ts';
import type { PortScan } from './ports.ts';
import { tunnelView } from './tunnel-view.ts';
import { TunnelItem } from './tunnels/tunnel-item.ts';

/** A tunnel that is online. */
const view = (problem: ConnectionProblem | undefined, ports: PortScan | undefined) => {
  const { served, serve, connection } = fakeServed();
  served.serve(connection);
  serve.last.onState({ name: 'online' });
  if (problem !== undefined) serve.last.onProblem(problem);
  return tunnelView(new TunnelItem(served), ports, true);
};

describe('tunnelView', () => {
  const refused = { code: 'local-refused', text: 'Nothing answers.' } as const;
  const blocked = { code: 'host-blocked', text: 'It refuses the name.' } as const;

  it('has times and counts in the units of the window', () => {
    const { expiresAt, ttl, framework } = view(undefined, scan([3000]));
    assert.deepEqual([expiresAt, ttl, framework], [Date.parse(TUNNEL.expires_at), 3600, 'Vite']);
  });

  it('has the last three requests', () => {
    const { served } = fakeServed();
    for (let n = 1; n <= 5; n += 1)
      served.log.open().toLocal(Buffer.from(`GET /${n} HTTP/1.1\r\nHost: a\r\n\r\n`));
    const { recent } = tunnelView(new TunnelItem(served), undefined, true);
    assert.deepEqual(
      recent.map(({ target }) => target),
      ['/5', '/4', '/3'],
    );
  });

  it('reports that nothing listens before a visitor notices', () => {
    assert.equal(view(undefined, scan([])).localProblem?.code, 'local-refused');
  });

  it('reports nothing about a port that may belong to another user', () => {
    assert.equal(view(undefined, scan([], false)).localProblem, undefined);
  });

  it('withdraws that, and nothing else, as soon as a program listens', () => {
    assert.equal(view(refused, scan([3000])).localProblem, undefined);
    assert.equal(view(blocked, scan([3000])).localProblem?.code, blocked.code);
  });

  it('relies on visitors if there is no port scan', () => {
    assert.equal(view(refused, undefined).localProblem?.code, refused.code);
  });
});

const scan = (listening: number[], isComplete = true): PortScan => ({
  listening: new Set(listening),
  isComplete,
  ports: [{ port: 3000, process: 'node', framework: 'Vite' }],
});

import assert from 'node:assert/strict';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { backInTurn, startBalancer } from '../support/native-server.ts';
import { Culvert } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';

/** Visitors, API calls and the client's own sockets land on whichever relay is next. */
describe('three relays behind nginx, with culvert', function () {
  const suite = suiteScope();
  const scope = testScope();
  let port: number;
  let cluster: RelayCluster;
  let culvert: Culvert;
  let host: string;

  before(async () => {
    port = await closedPort();
    const url = `http://localhost:${port}`;
    cluster = await RelayCluster.start(suite, 3, {
      CULVERT_PUBLIC_URL: url,
      CULVERT_TRUST_PROXY: '127.0.0.1',
    });
    await startBalancer(
      suite,
      port,
      cluster.relays.map((relay) => relay.port),
    );
    const service = await startHttpService(suite, ({ url: path }, response) => response.end(path));
    culvert = await Culvert.start(suite, { url }, cluster.key, service.port);
    host = `${culvert.tunnel.slug}.localhost:${port}`;
  });

  it('serve every request', async () => {
    await Promise.all(
      Array.from({ length: 8 }, async (_, visitor) => {
        const connection = await RawConnection.open(scope, port);
        for (let index = 0; index < 100; index += 1) {
          const target = `/${visitor}/${index}`;
          const answer = await connection.request({ host, target });
          assert.deepEqual([answer.status, answer.text], [200, target]);
        }
      }),
    );
  });

  it('serve again within 10 s when one is killed under load, no matter which relay the client was on', async () => {
    for (const relay of cluster.relays) {
      await relay.stop('SIGKILL');
      const begin = performance.now();
      const failed: string[] = [];
      let good = 0;
      await eventually(20_000, async () => {
        const answer = await visit(port, { host, target: '/x' });
        good = answer.status === 200 ? good + 1 : 0;
        if (good === 0) failed.push(`${answer.status} ${answer.text.slice(0, 200)}`);
        assert.ok(good >= 20, `${answer.status} after ${Math.round(performance.now() - begin)} ms`);
      });
      assert.ok(failed.length <= 3, `of those sent one after the other failed: ${failed.join('; ')}`);
      await relay.restart();
      await backInTurn(port, relay.port);
    }
  });
});

import assert from 'node:assert/strict';
import { Authority, type CertificateFiles } from '../support/certificates.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { Culvert } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { SHIPPED, startCaddy, startClusterNginx } from '../support/shipped-proxies.ts';

type Start = (
  scope: Scope,
  port: number,
  relays: readonly number[],
  files: CertificateFiles,
) => Promise<unknown>;

const PROXIES: Readonly<Record<string, Start>> = {
  /** Configured as in `server/deploy/compose-cluster.yml`, except for addresses. */
  Caddy: (scope, port, [first = 0, ...others], files) => startCaddy(scope, port, first, files, others),
  nginx: startClusterNginx,
};

for (const [proxy, start] of Object.entries(PROXIES))
  describe(`three relays behind ${proxy} with the shipped configuration`, function () {
    this.timeout(300_000);
    const scope = suiteScope();

    it('serve every request while they are restarted one after the other', async () => {
      const authority = new Authority(scope);
      const cluster = await RelayCluster.start(scope, 3, {
        ...SHIPPED.settings,
        CULVERT_ACCESS_LOG: 'stderr',
      });
      const port = await closedPort();
      const files = authority.issue(SHIPPED.relayHost, `*.${SHIPPED.tunnelDomain}`);
      await start(
        scope,
        port,
        cluster.relays.map((relay) => relay.port),
        files,
      );
      const service = await startHttpService(scope, ({ method, url }, response) =>
        response.end(`${method} ${url}`),
      );
      const url = `https://localhost:${port}`;
      const trusting = { NODE_EXTRA_CA_CERTS: authority.path };
      const { tunnel } = await Culvert.start(scope, { url }, cluster.key, service.port, [], trusting);
      const host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
      const wrong: string[] = [];
      const load = { asked: 0, isOver: false };
      const visitor = async (method: string): Promise<void> => {
        while (!load.isOver) {
          load.asked += 1;
          const request = { host, target: `/${load.asked}`, method };
          const { status, text } = await visit({ port, ca: authority.pem }, request);
          if (status !== 200) wrong.push(`${method}: ${status} ${text}`);
        }
      };
      const visitors = Promise.all(['GET', 'POST', 'GET', 'POST'].map(visitor));
      for (const relay of cluster.relays) {
        // Until the proxy has its connections: one that it opens as the listener closes may be reset.
        const { asked } = load;
        await eventually(60_000, () => assert.ok(load.asked > asked + 40));
        await relay.stop('SIGTERM', 60_000);
        await relay.restart();
        // The proxy has sent it a request: for a second it counts a relay that was away as down.
        await relay.child.printed(/"method":/);
      }
      load.isOver = true;
      await visitors;
      assert.deepEqual(wrong, []);
      assert.ok(load.asked > 20, `${load.asked} requests`);
    });
  });

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/deadline.ts';
import { Authority } from '../support/certificates.ts';
import { Api } from '../support/api.ts';
import { runServer } from '../support/native-server.ts';
import { Relay, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';

interface Target {
  readonly expr: string;
  /** legend of a line; `{{label}}` is a label of its series */
  readonly legendFormat: string;
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
}

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly Target[] }[];
}

const FILE = new URL('../../server/deploy/grafana-dashboard.json', import.meta.url);
/** Prometheus scrapes every second, and a rate needs two samples. */
const SCRAPED_MS = 60_000;

/** Debian's package `prometheus`; `e2e/support/setup.sh` installs it. */
describe('server/deploy/grafana-dashboard.json', () => {
  const scope = suiteScope();
  let relay: Relay;
  let prometheus: number;

  before(async () => {
    const metrics = await closedPort();
    relay = await Relay.start(scope, { CULVERT_METRICS_PORT: String(metrics) });
    const encrypted = await closedPort();
    const { cert, key } = new Authority(scope).issue();
    await Relay.start(scope, {
      CULVERT_METRICS_PORT: String(encrypted),
      CULVERT_TLS_CERT: cert,
      CULVERT_TLS_KEY: key,
    });
    prometheus = await closedPort();
    const folder = temporaryDirectory(scope);
    const file = join(folder, 'prometheus.yml');
    writeFileSync(
      file,
      `global: { scrape_interval: 1s }
scrape_configs: [{ job_name: culvert, static_configs: [{ targets: ['127.0.0.1:${metrics}', '127.0.0.1:${encrypted}'] }] }]
`,
    );
    await runServer(scope, prometheus, '/usr/bin/prometheus', [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${prometheus}`,
    ]);
  });

  async function query(expression: string): Promise<Series[]> {
    const target = `/api/v1/query?query=${encodeURIComponent(expression)}`;
    const { status, text } = await visit(prometheus, { host: 'localhost', target });
    assert.equal(status, 200, `${expression}: ${text}`);
    const { data } = JSON.parse(text) as { data: { result: Series[] } };
    return data.result;
  }

  it('queries only metrics that a Prometheus which scrapes a relay has', async () => {
    await new Api(relay, relay.bootstrapKey).list();
    await visit(relay.port, { host: `nobody.localhost:${relay.port}`, target: '/' });
    const { panels } = JSON.parse(readFileSync(FILE, 'utf8')) as Dashboard;
    const all = panels.flatMap(({ targets }) => targets);
    assert.ok(all.length > 0);
    await eventually(SCRAPED_MS, async () => {
      const empty: string[] = [];
      for (const { expr, legendFormat } of all) {
        const label = /^\{\{(\w+)\}\}$/.exec(legendFormat)?.[1];
        // As Grafana replaces the variable when all relays are chosen.
        const found = await query(expr.replaceAll('$instance', '.*'));
        const isNamed = label === undefined || found.every(({ metric }) => label in metric);
        if (found.length === 0 || !isNamed) empty.push(expr);
      }
      assert.deepEqual(empty, []);
    });
  });
});

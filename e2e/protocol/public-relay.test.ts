import assert from 'node:assert/strict';
import { hostOf } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { type Field, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const BROWSER: Field = ['Accept', 'text/html,application/xhtml+xml,*/*;q=0.8'];

describe('a relay for people the operator does not know (docs/operating.md)', () => {
  const scope = suiteScope();

  async function startTunnel(settings: Record<string, string>) {
    const [relay, service] = await Promise.all([
      Relay.start(scope, settings),
      startHttpService(scope, (_request, response) => {
        response.writeHead(200, { 'X-Robots-Tag': 'all' }).end('ok');
      }),
    ]);
    const client = await SpecClient.start(scope, relay, relay.bootstrapKey, { local_port: service.port });
    return { relay, host: hostOf(client.tunnel, relay), slug: client.tunnel.slug };
  }

  it('keeps tunnels out of search engines in every form, whatever they say themselves', async () => {
    const { relay, host, slug } = await startTunnel({});
    for (const request of [{ host }, { host: `localhost:${relay.port}`, target: `/t/${slug}/` }]) {
      const { status, head } = await visit(relay.port, request);
      assert.deepEqual([status, head.all('x-robots-tag')], [200, ['all', 'noindex']]);
    }
    const own = await visit(relay.port, { host: `localhost:${relay.port}`, target: '/healthz' });
    assert.deepEqual(own.head.all('x-robots-tag'), []);
  });

  it('leaves that to them with CULVERT_ROBOTS=allow', async () => {
    const { relay, host } = await startTunnel({ CULVERT_ROBOTS: 'allow' });
    assert.deepEqual((await visit(relay.port, { host })).head.all('x-robots-tag'), ['all']);
  });

  it('tells people on its pages where to complain, and programs what it told them before', async () => {
    const relay = await Relay.start(scope, { CULVERT_ABUSE_CONTACT: 'https://example.com/report?a=1&b="2"' });
    const page = await visit(relay.port, { host: 'nobody.localhost', headers: [BROWSER] });
    assert.ok(page.text.includes('<a href="https://example.com/report?a=1&amp;b=%222%22">'), page.text);
    const refused = await visit(relay.port, { host: 'nobody.localhost', target: 'x', headers: [BROWSER] });
    assert.deepEqual([refused.status, refused.text.includes('Report abuse')], [400, true]);
    const { text } = await visit(relay.port, { host: 'nobody.localhost' });
    assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error', 'code']);
  });
});

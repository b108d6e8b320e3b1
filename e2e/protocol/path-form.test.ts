import assert from 'node:assert/strict';
import { hostOf } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { type Field, type ResponseHead, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

describe('answers to the path form (contract.md, Inbound requests)', () => {
  const scope = suiteScope();
  let relay: Relay;
  let service: HttpService;
  let slug: string;
  /** What the local service answers next. */
  let fields: Field[] = [];

  before(async () => {
    [relay, service] = await Promise.all([
      Relay.start(scope),
      startHttpService(scope, (_request, response) => {
        for (const [name, value] of fields) response.appendHeader(name, value);
        response.end('ok');
      }),
    ]);
    const client = await SpecClient.start(scope, relay, relay.bootstrapKey, { local_port: service.port });
    slug = client.tunnel.slug;
  });

  async function answerWith(...answer: Field[]): Promise<ResponseHead> {
    fields = answer;
    const target = `/t/${slug}/some/page`;
    const { status, text, head } = await visit(relay.port, { host: `localhost:${relay.port}`, target });
    assert.deepEqual([status, text], [200, 'ok']);
    return head;
  }

  /** Puts the relay's port and the tunnel's slug into a text. */
  function fill(text: string): string {
    return text.replace('PORT', String(relay.port)).replace('SLUG', slug);
  }

  const locations: [sent: string, received: string][] = [
    ['/', '/t/SLUG/'],
    ['/login?next=/', '/t/SLUG/login?next=/'],
    ['http://localhost:PORT/login', 'http://localhost:PORT/t/SLUG/login'],
    ['http://LOCALHOST:PORT/', 'http://LOCALHOST:PORT/t/SLUG/'],
    ['login', 'login'],
    ['../up', '../up'],
    ['?page=2', '?page=2'],
    ['#top', '#top'],
    ['//elsewhere.example/x', '//elsewhere.example/x'],
    ['https://elsewhere.example/x', 'https://elsewhere.example/x'],
    ['http://localhost.example:PORT/x', 'http://localhost.example:PORT/x'],
    ['mailto:someone@example.com', 'mailto:someone@example.com'],
  ];
  for (const [sent, received] of locations) {
    it(`Location: ${sent} becomes ${received}`, async () => {
      assert.equal((await answerWith(['Location', fill(sent)])).field('location'), fill(received));
    });
  }

  const cookies: [sent: string, received: RegExp][] = [
    ['a=1; Path=/', /^a=1; Path=\/t\/SLUG\/?$/],
    ['a=1; Path=/app', /^a=1; Path=\/t\/SLUG\/app$/],
    ['a=1; path=/app/; HttpOnly', /^a=1; path=\/t\/SLUG\/app\/; HttpOnly$/i],
    ['a=1; Domain=localhost; Secure', /^a=1; Secure$/],
    ['a=1; Path=/; Domain=.localhost; Max-Age=5', /^a=1; Path=\/t\/SLUG\/?; Max-Age=5$/],
    ['a="x; y=/"; SameSite=Lax', /^a="x; y=\/"; SameSite=Lax$/],
  ];
  for (const [sent, received] of cookies) {
    it(`Set-Cookie: ${sent}`, async () => {
      const cookie = (await answerWith(['Set-Cookie', sent])).field('set-cookie') ?? '';
      assert.match(cookie, new RegExp(received.source.replace('SLUG', slug), received.flags));
    });
  }

  it('every one of several cookies is moved', async () => {
    const head = await answerWith(['Set-Cookie', 'a=1; Path=/a'], ['Set-Cookie', 'b=2; Path=/b']);
    assert.deepEqual(head.all('set-cookie'), [`a=1; Path=/t/${slug}/a`, `b=2; Path=/t/${slug}/b`]);
  });

  for (const name of ['Service-Worker-Allowed', 'Clear-Site-Data', 'Strict-Transport-Security']) {
    it(`${name} is removed`, async () => {
      const head = await answerWith([name.toLowerCase(), '/'], ['X-Kept', '1']);
      assert.deepEqual([head.field(name), head.field('x-kept')], [undefined, '1']);
    });

    it(`${name} passes on the subdomain`, async () => {
      fields = [[name, '/']];
      const { head } = await visit(relay.port, { host: hostOf({ slug }, relay) });
      assert.equal(head.field(name), '/');
    });
  }
});

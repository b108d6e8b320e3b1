/** Access to a tunnel, as set by the user of `culvert` (docs/guides/sharing-safely.md). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Link, NewLink } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount } from '../support/accounts.ts';
import { mustKnock } from '../support/approvals.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, CULVERT_SCRIPT, newApiKey, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { type Field, type Response, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import type { Scope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';
import { Terminal } from '../support/terminal.ts';

const CTRL_C = '\u{3}';
const BROWSER: Field = ['Accept', 'text/html'];

function basic(user: string, password: string): Field {
  return ['Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`];
}

function bearer(token: string): Field {
  return ['Authorization', `Bearer ${token}`];
}

/** The `Culvert-Visitor` that the echo service received. */
function visitorOf(response: Response): string | undefined {
  const { rawHeaders } = readEcho(response);
  return rawHeaders[rawHeaders.indexOf('Culvert-Visitor') + 1];
}

const SCRIPTED_TUNNEL = {
  id: '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  slug: 'scripted',
  client_id: '7b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  local_port: 1,
  name: '',
  ttl: '1h0m0s',
  mode: 'relay',
  created_at: '2026-07-10T12:00:00.000Z',
  expires_at: '2126-07-10T13:00:00.000Z',
  idle_ttl: false,
  bytes_in: 0,
  bytes_out: 0,
  requests: 0,
  public_url: 'http://scripted.localhost',
  urls: { subdomain: 'http://scripted.localhost' },
} as const;

/** A relay for `culvert` whose responses the test scripts: one tunnel, and the control socket of its client. */
class ScriptedRelay {
  readonly url: string;
  /** method, path and body of each call */
  readonly calls: string[] = [];
  readonly tunnel: Partial<Tunnel>;
  #control: WebSocket | undefined;

  private constructor(url: string, tunnel: Partial<Tunnel>) {
    this.url = url;
    this.tunnel = tunnel;
  }

  /** @param tunnel overrides for the tunnel object that it returns */
  static async start(scope: Scope, tunnel: Partial<Tunnel>): Promise<ScriptedRelay> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const relay = new ScriptedRelay(`http://127.0.0.1:${port}`, { ...SCRIPTED_TUNNEL, ...tunnel });
    const sockets = new WebSocketServer({ noServer: true });
    server.on('request', (request, response) => void relay.#respond(request, response));
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => {});
      if (request.url?.startsWith('/ws/control') !== true) {
        socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
        return;
      }
      sockets.handleUpgrade(request, socket, head, (control) => {
        control.on('error', () => {});
        relay.#control = control;
      });
    });
    scope.defer(() => {
      for (const control of sockets.clients) control.terminate();
      server.close();
      server.closeAllConnections();
    });
    return relay;
  }

  /** Sends a message on the control socket, which must be open. */
  send(message: object): void {
    if (this.#control === undefined) throw new Error('the client has no control socket');
    this.#control.send(JSON.stringify(message));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { method, url } = request;
    if (method !== 'GET') this.calls.push(`${method} ${url} ${body}`.trim());
    const answer = url === '/v1/tunnels' && method === 'GET' ? { tunnels: [this.tunnel] } : this.tunnel;
    response.writeHead(url === '/v1/tunnels' && method === 'POST' ? 201 : 200);
    response.end(JSON.stringify(answer));
  }
}

describe('culvert and access to its tunnel', () => {
  const { scope, relay } = sharedRelaySuite();
  let service: HttpService;
  let key: string;

  before(async () => {
    service = await startEchoService(scope);
  });
  beforeEach(async () => {
    ({ key } = await createAccount(relay));
  });

  /** Runs a command until it exits. */
  async function run(args: string[], environment: Record<string, string> = {}) {
    const access = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, ...environment };
    const child = spawnCulvert(scope, args, access);
    const { code } = await child.exit();
    return { code, out: child.lines.join('\n'), err: child.stderr };
  }

  function ask(
    { slug }: Pick<Tunnel, 'slug'>,
    headers: Field[] = [],
    request: object = {},
  ): Promise<Response> {
    return visit(relay.port, { host: hostOf({ slug }, relay), headers, ...request });
  }

  function open(args: string, environment: Record<string, string> = {}): Terminal {
    const command = `before=$(stty -g); ${process.execPath} ${CULVERT_SCRIPT} ${args}; echo "code $?"; [ "$before" = "$(stty -g)" ] && echo restored`;
    const access = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, XDG_CONFIG_HOME: '/nonexistent' };
    return new Terminal(scope, command, { ...access, ...environment });
  }

  it('asks for a password without echoing it, locks the tunnel, and shows visitors', async () => {
    const terminal = open(`http ${service.port} --name asked --auth ann`);
    await terminal.shows(/Password for ann: /);
    terminal.type('mild oak: fern\r');
    const view = await terminal.shows(/● Online[^]*^Access {7}login \(ann\)$/m);
    assert.doesNotMatch(view, /mild|history/);
    const tunnel = { slug: 'asked' };
    assert.equal((await ask(tunnel)).status, 401);
    assert.equal(visitorOf(await ask(tunnel, [basic('ann', 'mild oak: fern')])), 'basic:ann');
    await terminal.shows(/GET +200 .* basic:ann {2}\/$/m);
    terminal.type(CTRL_C);
    const end = await terminal.shows(/Tunnel closed\.\ncode 0\nrestored/);
    assert.doesNotMatch(end, /mild/);
  });

  it('generates three words, prints them, and admits a visitor who types them', async () => {
    const terminal = open(`http ${service.port} --name worded --password`);
    const view = await terminal.shows(/^Access {7}password\nPassword {5}[a-z]+-[a-z]+-[a-z]+$/m);
    const [, password = ''] = /^Password {5}(\S+)$/m.exec(view) ?? [];
    const typed = await ask(
      { slug: 'worded' },
      [BROWSER, ['Content-Type', 'application/x-www-form-urlencoded'], ['Sec-Fetch-Site', 'same-origin']],
      {
        method: 'POST',
        target: '/?culvert_gate',
        body: new URLSearchParams({ culvert_password: password }).toString(),
      },
    );
    assert.equal(typed.status, 303);
    const [cookie = ''] = (typed.head.field('set-cookie') ?? '').split(';', 1);
    assert.equal(visitorOf(await ask({ slug: 'worded' }, [['Cookie', cookie]])), 'password');
    terminal.type(CTRL_C);
    await terminal.shows(/code 0/);
  });

  it('prints the words for programs, and warns about a password on the command line', async () => {
    const made = spawnCulvert(scope, ['http', String(service.port), '--json', '--password'], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: key,
    });
    const password = await made.line((line) => /"password":"([a-z]+-[a-z]+-[a-z]+)"/.exec(line)?.[1]);
    assert.ok(password !== undefined && !made.stderr.includes('history'));
    const { child, tunnel } = await Culvert.start(scope, relay, key, service.port, [
      '--password',
      'hushhush',
    ]);
    assert.deepEqual(tunnel.access, { password: true });
    assert.match(child.stderr, /^culvert: The password of --password is in your shell's history.*\n$/);
    assert.ok(!(child.stderr + child.lines.join('')).includes('hushhush'));
  });

  it('reads access from culvert.yml and the environment', async () => {
    const file = join(temporaryDirectory(scope), 'culvert.yml');
    writeFileSync(
      file,
      `tunnels:\n  web:\n    port: ${service.port}\n    auth: "ann:\${ANN}"\n    allow: [127.0.0.0/8, "::1"]\n`,
    );
    const args = ['start', '--json', '--config', file];
    const child = spawnCulvert(scope, args, { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, ANN: 'fern' });
    const tunnel = await child.line((line) => (JSON.parse(line) as { tunnel?: Tunnel }).tunnel);
    assert.deepEqual(tunnel.access, { allow: ['127.0.0.0/8', '::1'], basic: ['ann'] });
    assert.equal((await ask(tunnel, [basic('ann', 'oak')])).status, 401);
    assert.equal(visitorOf(await ask(tunnel, [basic('ann', 'fern')])), 'basic:ann');
  });

  it('changes a live tunnel, creates links to it, and revokes them', async () => {
    const { tunnel } = await Culvert.start(scope, relay, key, service.port, ['--name', 'changed']);
    assert.equal((await run(['access', 'changed'])).out, 'changed is open to everyone.');
    const off = await run(['link', 'changed']);
    assert.equal(off.code, 1);
    assert.match(off.err, /"culvert access" with --links/);
    const locked = await run(['access', 'changed', '--links']);
    assert.equal(locked.out, 'Access to changed is restricted: signed link.\nBefore: open to everyone.');
    await eventually(10_000, async () => assert.equal((await ask(tunnel)).status, 401));
    const made = await run([
      'link',
      tunnel.id,
      '--note',
      'für Ann',
      '--path',
      '/cart?step=2',
      '--ttl',
      '2h',
      '--json',
    ]);
    const link = JSON.parse(made.out) as NewLink;
    const { pathname, search } = new URL(link.url);
    const led = await ask(tunnel, [['Accept', 'text/html']], { target: pathname + search });
    assert.deepEqual([led.status, led.head.field('location')], [303, '/cart?step=2']);
    const [cookie = ''] = (led.head.field('set-cookie') ?? '').split(';', 1);
    assert.equal(visitorOf(await ask(tunnel, [['Cookie', cookie]])), 'link:f%C3%BCr Ann');
    const { links } = JSON.parse((await run(['links', 'changed', '--json'])).out) as { links: Link[] };
    const { url: _url, ...listed } = link;
    assert.deepEqual(links, [listed]);
    assert.match(
      (await run(['links', 'changed'])).out,
      new RegExp(`^${link.id} .* /cart\\?step=2 +für Ann$`, 'm'),
    );
    assert.equal((await run(['link', '--revoke', link.id])).out, 'Revoked.');
    await eventually(10_000, async () => assert.equal((await ask(tunnel, [['Cookie', cookie]])).status, 401));
    const again = await run(['link', '--revoke', 'f'.repeat(16)]);
    assert.equal(again.code, 1);
    assert.match(again.err, /None of your live tunnels has a link/);
    assert.match((await run(['access', 'changed', '--open'])).out, /^changed is open to everyone\.\n/);
    await eventually(10_000, async () => assert.equal((await ask(tunnel)).status, 200));
  });

  it('shows new tokens once, keeps them for a tunnel that it takes over, and revokes those that are left out', async () => {
    const args = ['--name', 'agents', '--token', 'ci', '--token', 'agent'];
    const first = await Culvert.start(scope, relay, key, service.port, args);
    const [ci, agent] = (first.tunnel.access.tokens ?? []).map(({ token = '' }) => bearer(token));
    assert.ok(ci !== undefined && agent !== undefined);
    assert.equal(visitorOf(await ask(first.tunnel, [ci])), 'token:ci');
    first.child.kill('SIGKILL');
    await first.child.exit();
    const second = await eventually(20_000, () => Culvert.start(scope, relay, key, service.port, args));
    assert.ok(!second.child.lines.join('').includes('cvp_'));
    assert.equal(visitorOf(await ask(second.tunnel, [agent])), 'token:agent');
    assert.match((await run(['access', 'agents'])).out, /^agent +\d{4}-/m);
    const changed = await run(['access', 'agents', '--token', 'agent', '--token', 'new']);
    assert.match(
      changed.out,
      /^Access to agents is restricted: token \(agent, new\)\.\nToken new: cvp_\w{32}\nBefore: /,
    );
    await eventually(10_000, async () => assert.equal((await ask(second.tunnel, [ci])).status, 401));
    assert.equal(visitorOf(await ask(second.tunnel, [agent])), 'token:agent');
  });

  it('reads tokens from culvert.yml, which stay the same each time', async () => {
    const file = join(temporaryDirectory(scope), 'culvert.yml');
    writeFileSync(file, `tunnels:\n  web:\n    port: ${service.port}\n    tokens: {ci: "\${CI_TOKEN}"}\n`);
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, CI_TOKEN: 'x'.repeat(24) };
    const child = spawnCulvert(scope, ['start', '--json', '--config', file], environment);
    const tunnel = await child.line((line) => (JSON.parse(line) as { tunnel?: Tunnel }).tunnel);
    assert.deepEqual(tunnel.access, { tokens: [{ name: 'ci' }] });
    assert.equal(visitorOf(await ask(tunnel, [bearer(environment.CI_TOKEN)])), 'token:ci');
    assert.ok(!(child.stderr + child.lines.join('')).includes(environment.CI_TOKEN));
  });

  it('shows visitors in its request log', async () => {
    const { tunnel } = await Culvert.start(scope, relay, key, service.port, ['--auth', 'ann:fern']);
    await ask(tunnel, [basic('ann', 'fern')]);
    const listed = await run(['inspect', 'list', '--tunnel', tunnel.id]);
    assert.match(listed.out, /^NUMBER .* VISITOR\n1 .* basic:ann$/);
  });

  it('approves a request with one key, denies it with another, and shows the visitor', async () => {
    const terminal = open(`http ${service.port} --name knocked --knock`);
    await terminal.shows(/● Online[^]*^Access {7}your approval$/m);
    const place = { port: relay.port, host: hostOf({ slug: 'knocked' }, relay) };
    const first = await mustKnock(place, [['User-Agent', 'curl/8.5']]);
    await terminal.shows(
      /^\? 127\.0\.0\.1 is asking for access: a approves for an hour, x denies\. curl\/8\.5$/m,
    );
    assert.equal((await ask({ slug: 'knocked' }, [first])).status, 401);
    terminal.type('a');
    await eventually(20_000, async () =>
      assert.equal(visitorOf(await ask({ slug: 'knocked' }, [first])), 'knock'),
    );
    await terminal.shows(/GET +200 .* knock {2}\/$/m);
    const second = await mustKnock(place);
    await terminal.shows(/^\? 127\.0\.0\.1 is asking for access: a approves/m);
    terminal.type('x');
    await eventually(20_000, async () =>
      assert.match((await ask({ slug: 'knocked' }, [second])).text, /has seen your request and denied it/),
    );
    terminal.type(CTRL_C);
    await terminal.shows(/Tunnel closed\.\ncode 0\nrestored/);
  });

  describe('at a scripted relay', () => {
    const KNOCK = { type: 'knock', agent: 'curl/8.5', at: '2026-07-10T12:00:00.000Z' };

    it('approves and denies with keys, one visitor after the other', async () => {
      const played = await ScriptedRelay.start(scope, { access: { knock: true } });
      const path = `PUT /v1/tunnels/${played.tunnel.id}/knocks`;
      const terminal = open('http 1 --knock', { CULVERT_RELAY: played.url, CULVERT_API_KEY: newApiKey() });
      await terminal.shows(/● Online[^]*^Access {7}your approval$/m);
      played.send({ ...KNOCK, id: 'k1', address: '192.0.2.1' });
      played.send({ ...KNOCK, id: 'k2', address: '192.0.2.2' });
      await terminal.shows(
        /^\? 192\.0\.2\.1 is asking for access: a approves for an hour, x denies\. 1 more waiting\. curl\//m,
      );
      terminal.type('r');
      await terminal.shows(/^\? 192\.0\.2\.1 is asking for access: [^]*█▀|▀█/m);
      terminal.type('a');
      await terminal.shows(/^\? 192\.0\.2\.2 is asking for access: a approves/m);
      terminal.type('x');
      await eventually(20_000, () => {
        assert.deepEqual(played.calls.slice(1), [`${path}/k1 {"admit":true}`, `${path}/k2 {"admit":false}`]);
        assert.doesNotMatch(terminal.screen.text, /asking for access/);
      });
      terminal.type(CTRL_C);
      await terminal.shows(/Tunnel closed\.\ncode 0\nrestored/);
    });

    it('reports approval requests to programs, and accepts their answers', async () => {
      const played = await ScriptedRelay.start(scope, { access: { knock: true } });
      const access = { CULVERT_RELAY: played.url, CULVERT_API_KEY: newApiKey() };
      const culvert = await Culvert.start(scope, played, newApiKey(), 1, ['--knock']);
      const heard = culvert.child.line((line) => {
        const event = JSON.parse(line) as { event: string; tunnel: string; id: string };
        return event.event === 'knock' ? event : undefined;
      });
      played.send({ ...KNOCK, id: 'k1', address: '192.0.2.1' });
      const { tunnel, id } = await heard;
      const answered = await run(['knock', tunnel, id, '--admit', '--for', '8h'], access);
      assert.deepEqual([answered.code, answered.out], [0, 'Approved the visitor.']);
      assert.equal(played.calls.at(-1), `PUT /v1/tunnels/${tunnel}/knocks/k1 {"admit":true,"for":"8h"}`);
    });
  });
});

/** Access to a tunnel, as set by the user of `culvert` (docs/guides/sharing-safely.md). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NewLink } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount } from '../support/accounts.ts';
import { codeIn, OAuthClient, submit, tokensIn } from '../support/agents.ts';
import { mustKnock } from '../support/approvals.ts';
import { CookieBrowser } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { basic, bearer } from '../support/locked-tunnels.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, CULVERT_SCRIPT, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { type Field, type Response, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';
import { Terminal } from '../support/terminal.ts';

const CTRL_C = '\u{3}';
const BROWSER: Field = ['Accept', 'text/html'];

/** The `Culvert-Visitor` that the echo service received. */
function visitorOf(response: Response): string | undefined {
  const { rawHeaders } = readEcho(response);
  return rawHeaders[rawHeaders.indexOf('Culvert-Visitor') + 1];
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
    const end = await terminal.shows(/Tunnel closed\. .* stays reserved .* until .*\ncode 0\nrestored/);
    assert.doesNotMatch(end, /mild/);
  });

  it('names the hosts of agents that ask, approves them, lists them, and revokes them', async () => {
    const { child, tunnel } = await Culvert.start(scope, relay, key, service.port, ['--mcp']);
    const { slug } = tunnel;
    assert.deepEqual(tunnel.access, { oauth: true });
    const client = new OAuthClient(
      relay.port,
      `http://${hostOf(tunnel, relay)}/mcp`,
      'https://agent.example/back',
    );
    await client.register({ client_name: 'Claude' });
    const browser = new CookieBrowser();
    const page = await browser.step(client.authorizeAddress());
    const asked = await submit(browser, page, 'Ask the owner');
    const knock = await child.line((line) => {
      const event = JSON.parse(line) as {
        readonly event: string;
        readonly id: string;
        readonly client?: unknown;
      };
      return event.event === 'knock' ? event : undefined;
    });
    const shown = { name: 'Claude', host: 'agent.example', returns_to: 'agent.example' };
    assert.deepEqual(knock.client, shown);
    assert.equal((await run(['knock', slug, knock.id, '--admit'])).out, 'Approved the visitor.');
    const waiting = new URL(asked.head.field('location') ?? assert.fail(asked.text), page.url);
    const back = await submit(browser, await browser.step(waiting), 'Allow');
    const { access_token: token } = tokensIn(await client.redeem(codeIn(back, client)));
    assert.equal(visitorOf(await ask(tunnel, [bearer(token)])), 'agent:agent.example');
    const policy = `Access to ${slug} is restricted: approved agents.`;
    const [first, , row = ''] = (await run(['access', slug])).out.split('\n');
    const [agent = '', ...cells] = row.split(/ {2,}/);
    assert.deepEqual(
      [first, ...cells.slice(0, 4)],
      [policy, 'agent.example', 'agent.example', 'Claude', '-'],
    );
    assert.equal((await run(['access', slug, '--revoke-agent', agent])).out, 'Revoked.');
    await eventually(20_000, async () => assert.equal((await ask(tunnel, [bearer(token)])).status, 401));
    assert.equal((await run(['access', slug])).out, policy);
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

  it('prints the words for programs', async () => {
    const made = spawnCulvert(scope, ['http', String(service.port), '--json', '--password'], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: key,
    });
    assert.ok(await made.line((line) => /"password":"([a-z]+-[a-z]+-[a-z]+)"/.exec(line)?.[1]));
    assert.doesNotMatch(made.stderr, /history/);
  });

  it('reads access and tokens from culvert.yml and the environment, and shows no secret', async () => {
    const file = join(temporaryDirectory(scope), 'culvert.yml');
    const port = `port: ${service.port}`;
    writeFileSync(
      file,
      `tunnels:\n  web: {${port}, auth: "ann:\${ANN}", allow: [127.0.0.0/8, "::1"]}\n  bot: {${port}, tokens: {ci: "\${CI}"}}\n`,
    );
    const secrets = { ANN: 'fern-and-oak', CI: 'x'.repeat(24) };
    const access = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, ...secrets };
    const child = spawnCulvert(scope, ['start', '--json', '--config', file], access);
    const started = async (name: string): Promise<Tunnel> =>
      await child.line((line) => {
        const event = JSON.parse(line) as { name: string; tunnel?: Tunnel };
        return event.name === name ? event.tunnel : undefined;
      });
    const [web, bot] = [await started('web'), await started('bot')];
    assert.deepEqual(web.access, { allow: ['127.0.0.0/8', '::1'], basic: ['ann'] });
    assert.equal((await ask(web, [basic('ann', 'oak')])).status, 401);
    assert.equal(visitorOf(await ask(web, [basic('ann', secrets.ANN)])), 'basic:ann');
    assert.deepEqual(bot.access, { tokens: [{ name: 'ci' }] });
    assert.equal(visitorOf(await ask(bot, [bearer(secrets.CI)])), 'token:ci');
    for (const secret of Object.values(secrets)) assert.ok(!child.output.includes(secret));
  });

  it('changes a live tunnel, creates links to it, and revokes them', async () => {
    const { tunnel } = await Culvert.start(scope, relay, key, service.port, ['--name', 'changed']);
    const locked = await run(['access', 'changed', '--links']);
    assert.equal(locked.out, 'Access to changed is restricted: signed link.\nBefore: open to anyone.');
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
    assert.equal((await run(['link', '--revoke', link.id])).out, 'Revoked.');
    await eventually(10_000, async () => assert.equal((await ask(tunnel, [['Cookie', cookie]])).status, 401));
    assert.match((await run(['access', 'changed', '--open'])).out, /^changed is open to anyone\.\n/);
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
    const changed = await run(['access', 'agents', '--token', 'agent', '--token', 'new']);
    assert.match(
      changed.out,
      /^Access to agents is restricted: token \(agent, new\)\.\nToken new: cvp_\w{32}\nBefore: /,
    );
    await eventually(10_000, async () => assert.equal((await ask(second.tunnel, [ci])).status, 401));
    assert.equal(visitorOf(await ask(second.tunnel, [agent])), 'token:agent');
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
    await terminal.shows(/Tunnel closed\. .* stays reserved .* until .*\ncode 0\nrestored/);
  });
});

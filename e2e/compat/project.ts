import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { launchTrustingBrowser } from '../support/browser.ts';
import { Authority } from '../support/certificates.ts';
import { type Child, runScript } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { canConnect } from '../support/native-server.ts';
import { Culvert, RelayProgram, spawnCulvert } from '../support/programs.ts';
import { Scope, suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';

/** Of dev servers, which are not to send anything to their makers. */
const DEV_ENVIRONMENT: Readonly<Record<string, string>> = {
  ASTRO_TELEMETRY_DISABLED: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  NG_CLI_ANALYTICS: 'false',
  NUXT_TELEMETRY_DISABLED: '1',
  STORYBOOK_DISABLE_TELEMETRY: '1',
  NO_COLOR: '1',
  NODE_ENV: 'development',
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
};

/** The page's script, for a build by Vite: counts clicks, and shows a change of `text.js` without a reload. */
export const VITE_SCRIPT = `
  import { text } from './text.js';
  const show = (text) => (document.querySelector('#text').textContent = text);
  const button = document.querySelector('button');
  let count = 0;
  const label = () => (button.textContent = 'pressed ' + count);
  button.onclick = () => ((count += 1), label());
  show(text);
  label();
  import.meta.hot.accept('./text.js', (module) => show(module.text));
`;

/** A developer's project: files in a folder of their own, removed with the scope. */
export class Project {
  readonly folder: string;
  /** next to the installed packages, so that the project finds them */
  readonly #apps: string;

  /** @param apps the folder of this one with the packages that it needs */
  constructor(scope: Scope, files: Readonly<Record<string, string>>, apps = 'apps') {
    this.#apps = realpathSync(fileURLToPath(new URL(`./${apps}`, import.meta.url)));
    this.folder = mkdtempSync(join(this.#apps, 'run-'));
    scope.defer(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 }));
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  /** Saves a file, as an editor does. */
  write(name: string, text: string): void {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** A command whose first word is an installed program, with its path. */
  command([program = '', ...args]: readonly string[]): string[] {
    return [join(this.#apps, 'node_modules/.bin', program), ...args];
  }

  /**
   * Starts a script of the project; ended with the scope.
   *
   * @param ready a line that it prints once it accepts requests
   */
  async run(scope: Scope, name: string, args: readonly string[], ready: RegExp): Promise<void> {
    const child = runScript(join(this.folder, name), args, DEV_ENVIRONMENT);
    scope.defer(() => child.stop('SIGTERM'));
    await child.line((line) => (ready.test(line) ? true : undefined), 180_000);
  }
}

/** Waits until a program accepts connections, on either loopback address. */
async function listening(child: Child, port: number): Promise<void> {
  await eventually(180_000, async () => {
    if (child.hasExited) throw new Error(child.output);
    await Promise.any([canConnect(port), canConnect(port, '::1')]);
  });
}

/** A page, with the addresses of the WebSockets that it has opened and what they received. */
type WatchedPage = Awaited<ReturnType<typeof openPage>>;

/** Opens a page whose waits give up after 2 min. */
export async function openPage(browser: Browser, url: string) {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const webSockets: string[] = [];
  const messages: string[] = [];
  page.on('websocket', (socket) => {
    webSockets.push(socket.url());
    socket.on('framereceived', ({ payload }) => messages.push(String(payload)));
  });
  await page.goto(url, { timeout: 180_000 });
  return { page, webSockets, messages };
}

/* What every dev server has to do behind a tunnel on a real domain, over HTTPS. */

const DOMAIN = 'tunnels.test';
/** Set in a page. A reload would lose it. */
const MARK = 'data-loaded-once';
/** A folder for pictures of what a visitor sees; none are taken by default. */
const PICTURES = process.env['COMPAT_PICTURES'];

/**
 * A project whose page shows `before` in `#text`, and a button with `pressed 0` that counts once scripts run. Saving
 * {@link Framework.change} replaces `before` with another text.
 */
export interface Framework {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** the command that starts the server, with a program in `node_modules/.bin` of {@link Framework.apps} */
  readonly command: readonly string[];
  /** which installation has its packages: a folder of this one, `apps` by default */
  readonly apps?: string;
  /** the path of the page; `/` by default */
  readonly path?: string;
  /** the frame with the project's page; the page itself by default */
  readonly frame?: string;
  /** the file to save, with another text instead of `before` */
  readonly change: string;
  /** the first message on a WebSocket from a server that reports changes; it may miss earlier changes */
  readonly ready: RegExp;
  /** the setting that Culvert names when the server refuses the host */
  readonly setting: RegExp;
}

/** Declares the tests of a dev server. It is started once, because its start is the slowest part. */
export function testFramework(framework: Framework): void {
  const { name, setting } = framework;

  describe(`${name} on a real domain`, () => {
    const scope = suiteScope();
    let relay: RelayProgram;
    let browser: Browser;
    let environment: Record<string, string>;
    let project: Project;
    let port: number;
    let run: Child;

    before(async () => {
      const authority = new Authority(scope);
      const { cert, key } = authority.issue(`*.${DOMAIN}`);
      relay = await RelayProgram.start(scope, {
        CULVERT_TLS_CERT: cert,
        CULVERT_TLS_KEY: key,
        CULVERT_TUNNEL_DOMAIN: DOMAIN,
      });
      environment = {
        ...DEV_ENVIRONMENT,
        NODE_EXTRA_CA_CERTS: authority.path,
        CULVERT_RELAY: relay.url,
        CULVERT_API_KEY: relay.bootstrapKey,
      };
      browser = await launchTrustingBrowser(scope, authority.pem.toString(), '127.0.0.1');
      project = new Project(scope, framework.files, framework.apps);
      port = await closedPort();
      const command = project.command(framework.command);
      const args = ['run', '--port', String(port), '--name', 'run', '--', ...command];
      run = spawnCulvert(scope, args, environment, undefined, project.folder);
      // Ends the server as well.
      scope.defer(() => run.stop('SIGTERM'));
      // On a busy machine, it starts more slowly than visitors wait.
      await listening(run, port);
    });

    const open = (host: string): Promise<WatchedPage> =>
      openPage(browser, `https://${host}.${DOMAIN}:${relay.port}${framework.path ?? '/'}`);

    it('works with culvert run', async () => {
      await withOutput(run, async () => expectHotReload(framework, await open('run'), project, 'after'));
      assert.doesNotMatch(run.output, /rejects the host name/);
    });

    it('refuses another name, as Culvert explains, and works with --host-header local', async () => {
      const own = new Scope();
      const http = (host: string, ...args: string[]): Promise<Culvert> =>
        Culvert.start(own, relay, relay.bootstrapKey, port, ['--name', host, ...args], environment);
      try {
        const culvert = await http('plain');
        const { page } = await open('plain');
        assert.match(await culvert.child.line((line) => /.*host-blocked.*/.exec(line)?.[0]), setting);
        await picture(page, `${name} before`);
        assert.equal(await page.locator('button:enabled', { hasText: 'pressed' }).count(), 0);
        await page.close();
        await http('local', '--host-header', 'local');
        await withOutput(run, async () => expectHotReload(framework, await open('local'), project, 'again'));
      } finally {
        await own.end();
      }
    });
  });
}

/** Presses the button, saves another text, and waits until the page shows it without a reload. */
async function expectHotReload(
  { name, frame, ready, change, files }: Framework,
  { page, webSockets, messages }: WatchedPage,
  project: Project,
  next: string,
): Promise<void> {
  const inner = frame === undefined ? page : page.frameLocator(frame);
  const text = inner.locator('#text', { hasText: /before|after/ });
  // While a server prepares its dependencies, a page may be incomplete. Its visitor then reloads it.
  await eventually(120_000, async () => {
    try {
      await text.waitFor({ timeout: 30_000 });
    } catch (error) {
      await page.reload();
      throw error;
    }
  });
  // A button that counts proves that scripts run. Some frameworks show it before that.
  await eventually(120_000, async () => {
    await inner.locator('button', { hasText: 'pressed' }).click();
    await inner.locator('button', { hasText: /pressed [1-9]/ }).waitFor({ timeout: 1000 });
  });
  await inner
    .locator('html')
    .evaluate(
      (html, mark) =>
        (html as unknown as { setAttribute(n: string, v: string): void }).setAttribute(mark, ''),
      MARK,
    );
  await eventually(60_000, () => assert.match(messages.join('\n'), ready));
  project.write(change, (files[change] ?? '').replace('before', next));
  await inner.locator('#text', { hasText: next }).waitFor();
  assert.equal(await inner.locator(`html[${MARK}]`).count(), 1, 'the page was reloaded');
  const { host } = new URL(page.url());
  assert.ok(
    webSockets.length > 0 && webSockets.every((url) => new URL(url).host === host),
    webSockets.join(),
  );
  await picture(page, `${name} after`);
  await page.close();
}

/** Adds what the program printed to a failure. */
async function withOutput(child: Child, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    throw new Error(`${String(error)}\n${child.output}`, { cause: error });
  }
}

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

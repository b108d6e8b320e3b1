/**
 * What a visitor reads if a site cannot respond: the pages of the relay and of the client (protocol.md section
 * 4.5).
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { createAccount, onlyAccount, type TestAccount } from '../../support/accounts.ts';
import { ManualClient } from '../../support/manual-client.ts';
import { Culvert, type Relay } from '../../support/programs.ts';
import { testScope } from '../../support/scope.ts';
import { closedPort, startRawService } from '../../support/services/listen.ts';
import { sharedBrowser, sharedRelay } from '../support/running-app.ts';
import { assertPageReadable, colorOf, openAddress } from '../support/readable.ts';
import { bottomOf } from '../support/visit.ts';

/**
 * Status, code, and title with heading of a page, its advice or reason, and what causes it. @returns the address to
 * open, and options of the browser
 */
type ErrorPage = readonly [
  status: number,
  code: string,
  title: string,
  says: RegExp,
  prepare: () => Promise<readonly [address: string, options?: BrowserContextOptions]>,
];

describe('error pages in a browser', () => {
  const scope = testScope();
  let relay: Relay;
  let browser: Browser;
  let account: TestAccount;

  before(async function () {
    [relay, browser] = await Promise.all([sharedRelay(), sharedBrowser()]);
  });

  beforeEach(async () => {
    account = await createAccount(relay);
  });

  async function manualClient(): Promise<ManualClient> {
    return await ManualClient.start(scope, relay, onlyAccount(account));
  }

  /** Starts `culvert`. @returns the address of its tunnel */
  async function culvert(localPort: number): Promise<string> {
    return (await Culvert.start(scope, relay, account.key, localPort)).tunnel.public_url;
  }

  /** @returns the address of a tunnel to a service that does that with each connection */
  async function service(serve: (socket: Socket) => void): Promise<readonly [string]> {
    return [await culvert((await startRawService(scope, serve)).port)];
  }

  const PAGES: readonly ErrorPage[] = [
    [
      404,
      'tunnel-unknown',
      'There is no tunnel here',
      /closed or have expired, or the address may have been mistyped/,
      () => Promise.resolve([`http://nobody.localhost:${relay.port}/page?with=query`]),
    ],
    [
      503,
      'tunnel-offline',
      'The tunnel is offline',
      /not connected right now\. Try again.*tries again every 10 seconds/s,
      async () => [(await account.api.create({ local_port: 9 })).public_url],
    ],
    [
      504,
      'client-timeout',
      'The tunnel did not respond',
      /did not accept the connection in time\. Try again/,
      async () => [(await manualClient()).tunnel.public_url],
    ],
    [
      502,
      'client-closed',
      'The connection was closed',
      /closed the connection before it sent a response\. Try again/,
      async () => {
        const client = await manualClient();
        client.control.onMessage = ({ id }) =>
          void client.open(id).then(
            (connection) => connection.socket.close(),
            () => undefined,
          );
        return [client.tunnel.public_url];
      },
    ],
    [
      502,
      'local-refused',
      'The service cannot be reached',
      /The owner of this page can start it\..*tries again every 10 seconds/s,
      async () => [await culvert(await closedPort())],
    ],
    [
      502,
      'local-malformed',
      'The response is not HTTP',
      /sent something that is not HTTP/,
      () => service((socket) => void socket.write('SSH-2.0\r\n')),
    ],
    [
      502,
      'local-reset',
      'The local service closed the connection',
      /closed the connection without sending a response/,
      () => service((socket) => socket.once('data', () => socket.destroy())),
    ],
    [
      414,
      'uri-too-long',
      'Address too long',
      /longer than 8 KiB/,
      async () => [`${await culvert(await closedPort())}/${'a'.repeat(8200)}`],
    ],
    [
      431,
      'head-too-large',
      'Request headers too large',
      /delete this site's cookies and try again/,
      async () => {
        const address = await culvert(await closedPort());
        const { hostname: domain } = new URL(address);
        const common = { value: 'x'.repeat(4000), domain, path: '/', expires: -1, sameSite: 'Lax' } as const;
        // Large cookies are the usual cause of large heads.
        const cookies = Array.from({ length: 5 }, (_, n) => ({
          ...common,
          name: `part-${n}`,
          httpOnly: false,
          secure: false,
        }));
        return [address, { storageState: { cookies, origins: [] } }];
      },
    ],
    [
      400,
      'bad-request',
      'Bad request',
      /malformed or ambiguous/,
      // A browser that uses the relay as its proxy sends it requests for any host.
      () => Promise.resolve(['http://a+b.example/', { proxy: { server: `http://127.0.0.1:${relay.port}` } }]),
    ],
  ];

  for (const [status, code, title, says, prepare] of PAGES)
    it(`${status} ${code}: readable in every view, self-contained, without a script`, async () => {
      const [address, options] = await prepare();
      const { page, answer, requests, errors } = await openAddress(scope, browser, address, options);
      assert.deepEqual([answer.status(), answer.headers()['culvert-error']], [status, code]);
      assert.equal(await page.title(), title);
      assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), title);
      const text = await page.getByRole('main').innerText();
      assert.match(text, says);
      assert.ok(text.includes(`${status}: ${code}`), text);
      assert.deepEqual(
        requests.map((url) => new URL(url).href),
        [new URL(address).href],
      );
      assert.deepEqual(
        errors.filter((error) => !error.includes(`the server responded with a status of ${status}`)),
        [],
      );
      // From one page to the next, the text begins at the same place.
      const { width = 0 } = page.viewportSize() ?? {};
      const box = await page.getByRole('main').boundingBox();
      assert.equal(box?.width, Math.min(34 * 16, width));
      await assertPageReadable(page);
    });

  for (const [what, away] of [
    [
      'lines that would move the small print out of sight',
      `Back.${'\n'.repeat(400)}Soon.${'\na'.repeat(40)}`,
    ],
    ['a word without an end, and letters from right to left', `${'Monday'.repeat(40)}\nسأعود غدًا.`],
    ['accents that would cover the page', `Z${'\u0301\u0316'.repeat(200)} 🏖️`],
  ] as const)
    it(`503 away: readable in every view, with ${what}`, async () => {
      const name = `away-${randomBytes(4).toString('hex')}`;
      await account.api.send('POST', '/v1/names', { json: { name } });
      const until = new Date(Date.now() + 20 * 3_600_000).toISOString();
      await account.api.send('PUT', `/v1/names/${name}`, { json: { away, until } });
      const address = `http://${name}.localhost:${relay.port}`;
      const { page, answer } = await openAddress(scope, browser, address);
      assert.deepEqual([answer.status(), answer.headers()['culvert-error']], [503, 'away']);
      await assertPageReadable(page);
      await page.setViewportSize({ width: 320, height: 640 });
      const small = page.locator('small');
      assert.match(await small.innerText(), /the tunnel relay localhost/);
      // Two screens of a small phone.
      assert.ok((await bottomOf(small)) < 1280);
      assert.equal(await colorOf(page, 'h1', 'overflowY'), 'hidden');
      const inUtc = page.getByText(`${until.slice(0, 16).replace('T', ' ')} UTC`);
      assert.match(await page.getByRole('main').innerText(), /Back in about 20 hours/);
      assert.equal(await inUtc.count(), 1);
    });
});

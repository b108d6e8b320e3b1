/**
 * What a visitor reads if a site cannot respond: the pages of the relay and of the client (protocol.md section
 * 4.5).
 */
import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { createAccount, onlyAccount, type TestAccount } from '../../support/accounts.ts';
import { ManualClient } from '../../support/manual-client.ts';
import { Culvert, type Relay } from '../../support/programs.ts';
import { testScope } from '../../support/scope.ts';
import { closedPort, startRawService } from '../../support/services/listen.ts';
import { sharedBrowser, sharedRelay } from '../support/running-app.ts';
import { assertPageReadable, openAddress } from '../support/readable.ts';

interface ErrorPage {
  readonly status: number;
  readonly code: string;
  /** heading and title */
  readonly title: string;
  /** the advice or the reason on the page */
  readonly says: RegExp;
  /** causes the error */
  readonly prepare: () => Promise<Situation>;
}

interface Situation {
  /** address to open */
  readonly address: string;
  /** of the browser */
  readonly options?: BrowserContextOptions;
  /** further text that is known only at run time */
  readonly detail?: string;
}

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

  const PAGES: readonly ErrorPage[] = [
    {
      status: 404,
      code: 'tunnel-unknown',
      title: 'There is no tunnel here',
      says: /closed or have expired, or the address may have been mistyped/,
      prepare: () => Promise.resolve({ address: `http://nobody.localhost:${relay.port}/page?with=query` }),
    },
    {
      status: 503,
      code: 'tunnel-offline',
      title: 'The tunnel is offline',
      says: /not connected right now\. Try again.*tries again every 10 seconds/s,
      prepare: async () => ({ address: (await account.api.create({ local_port: 9 })).public_url }),
    },
    {
      status: 504,
      code: 'client-timeout',
      title: 'The tunnel did not respond',
      says: /did not accept the connection in time\. Try again/,
      prepare: async () => ({ address: (await manualClient()).tunnel.public_url }),
    },
    {
      status: 502,
      code: 'client-closed',
      title: 'The connection was closed',
      says: /closed the connection before it sent a response\. Try again/,
      prepare: async () => {
        const client = await manualClient();
        client.control.onMessage = ({ id }) =>
          void client.open(id).then(
            (connection) => connection.socket.close(),
            () => undefined,
          );
        return { address: client.tunnel.public_url };
      },
    },
    {
      status: 502,
      code: 'local-refused',
      title: 'The service cannot be reached',
      says: /The owner of this page can start it\. .*tries again every 10 seconds/s,
      prepare: async () => {
        const port = await closedPort();
        return { address: await culvert(port), detail: `The port is ${port}.` };
      },
    },
    {
      status: 502,
      code: 'local-malformed',
      title: 'The response is not HTTP',
      says: /sent something that is not HTTP/,
      prepare: async () => {
        const service = await startRawService(scope, (socket) => void socket.write('SSH-2.0\r\n'));
        return { address: await culvert(service.port) };
      },
    },
    {
      status: 502,
      code: 'local-reset',
      title: 'The local service closed the connection',
      says: /closed the connection without sending a response/,
      prepare: async () => {
        const service = await startRawService(scope, (socket) => socket.once('data', () => socket.destroy()));
        return { address: await culvert(service.port) };
      },
    },
    {
      status: 414,
      code: 'uri-too-long',
      title: 'Address too long',
      says: /longer than 8 KiB/,
      prepare: async () => ({ address: `${await culvert(await closedPort())}/${'a'.repeat(8200)}` }),
    },
    {
      status: 431,
      code: 'head-too-large',
      title: 'Request headers too large',
      says: /delete this site's cookies and try again/,
      prepare: async () => {
        const address = await culvert(await closedPort());
        // Large cookies are the usual cause of large heads.
        const cookies = Array.from({ length: 5 }, (_, n) => ({
          name: `part-${n}`,
          value: 'x'.repeat(4000),
          domain: new URL(address).hostname,
          path: '/',
          expires: -1,
          httpOnly: false,
          secure: false,
          sameSite: 'Lax' as const,
        }));
        return { address, options: { storageState: { cookies, origins: [] } } };
      },
    },
    {
      status: 400,
      code: 'bad-request',
      title: 'Bad request',
      says: /malformed or ambiguous/,
      // A browser that uses the relay as its proxy sends it requests for any host.
      prepare: () =>
        Promise.resolve({
          address: 'http://a+b.example/',
          options: { proxy: { server: `http://127.0.0.1:${relay.port}` } },
        }),
    },
  ];

  for (const { status, code, title, says, prepare } of PAGES) {
    it(`${status} ${code}: readable in every view, self-contained, without a script`, async () => {
      const { address, options, detail = '' } = await prepare();
      const { page, answer, requests, errors } = await openAddress(scope, browser, address, options);
      assert.deepEqual([answer.status(), answer.headers()['culvert-error']], [status, code]);

      assert.equal(await page.title(), title);
      assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), title);
      const text = await page.getByRole('main').innerText();
      assert.match(text, says);
      for (const part of [`${status}: ${code}`, detail]) assert.ok(text.includes(part), text);

      assert.deepEqual(
        requests.map((url) => new URL(url).href),
        [new URL(address).href],
      );
      assert.deepEqual(
        errors.filter((error) => !error.includes(`the server responded with a status of ${status}`)),
        [],
      );

      await assertPageReadable(page);
    });
  }
});

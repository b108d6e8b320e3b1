/** Pages with a live connection to their server, and one with a large upload, in a browser. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { type WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../../support/deadline.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { sharedBrowser } from '../support/running-app.ts';
import { openAddress } from '../support/readable.ts';

const MIB = 1024 * 1024;
const UPLOAD_BYTES = 64 * MIB;
/** How much the service reads at a time. */
const UPLOAD_STEP_BYTES = 8 * MIB;
/** More than the buffers between page and service hold: about 16 MiB, measured. */
const ON_THE_WAY_BYTES = 32 * MIB;

const UPLOAD_PAGE = `<script>
  const progress = [];
  const result = {};
  async function upload(bytes) {
    const body = new Uint8Array(bytes);
    // As much as one call gives.
    for (let at = 0; at < bytes; at += 65536) crypto.getRandomValues(body.subarray(at, at + 65536));
    result.sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', body)).toHex();
    const request = new XMLHttpRequest();
    request.open('POST', 'upload');
    request.upload.onprogress = ({ loaded }) => progress.push(loaded);
    request.onload = () => (result.answer = request.status + ' ' + request.responseText);
    request.onerror = () => (result.answer = 'error');
    request.send(new Blob([body]));
  }
</script>`;

/** What a page has logged, in order, one line per entry. */
async function logOf(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>('log');
}

async function waitForLog(page: Page, expected: readonly string[]): Promise<void> {
  await eventually(20_000, async () => assert.deepEqual(await logOf(page), expected));
}

describe('a page connected to its server', () => {
  const suite = suiteScope();
  const scope = testScope();
  let relay: Relay;
  let browser: Browser;

  before(async function () {
    [relay, browser] = await Promise.all([Relay.start(suite), sharedBrowser()]);
  });

  /** Puts a service behind a new tunnel and opens its page at `/`. */
  async function openPage(html: string, serve: (request: IncomingMessage, response: ServerResponse) => void) {
    const service = await startHttpService(scope, (request, response) => {
      if (request.url !== '/') return serve(request, response);
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(`<!doctype html><title>Page</title><link rel="icon" href="data:,">${html}`);
    });
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const opened = await openAddress(scope, browser, `${culvert.tunnel.urls.subdomain}/`);
    return { ...opened, service, culvert };
  }

  it('by WebSocket: text, binary, and how either end closes', async () => {
    const { page, service } = await openPage(
      `<script>
        let log = [];
        function connect() {
          log = [];
          const socket = new WebSocket(location.href.replace('http', 'ws') + 'socket');
          socket.binaryType = 'arraybuffer';
          socket.onopen = () => log.push('open');
          socket.onclose = ({ code, reason, wasClean }) => log.push(['closed', code, reason, wasClean].join(' '));
          socket.onmessage = ({ data }) => {
            if (typeof data === 'string') return log.push('text ' + data);
            const bytes = new Uint8Array(data);
            log.push('binary ' + bytes.length + ' ' + bytes.every((byte, at) => byte === (at * 31) % 251));
          };
          return (window.socket = socket);
        }
      </script>`,
      (_, response) => response.writeHead(404).end(),
    );
    const closes: string[] = [];
    const sockets = new WebSocketServer({
      server: service.server,
      path: '/socket',
      perMessageDeflate: false,
    });
    scope.defer(() => sockets.close());
    let connected = Promise.withResolvers<WebSocket>();
    sockets.on('connection', (socket) => {
      socket.on('error', () => socket.terminate());
      socket.on('message', (message: Buffer, isBinary) => socket.send(message, { binary: isBinary }));
      socket.on('close', (code, reason) => closes.push(`${code} ${reason.toString()}`));
      connected.resolve(socket);
    });
    /** Connects again. @returns the service's end */
    async function connect(): Promise<WebSocket> {
      connected = Promise.withResolvers<WebSocket>();
      await page.evaluate('void connect()');
      await waitForLog(page, ['open']);
      return await connected.promise;
    }

    await connect();
    await page.evaluate("socket.send('Grüße, 世界')");
    await waitForLog(page, ['open', 'text Grüße, 世界']);
    await page.evaluate(`socket.send(Uint8Array.from({ length: ${MIB} }, (_, at) => (at * 31) % 251))`);
    await waitForLog(page, ['open', 'text Grüße, 世界', `binary ${MIB} true`]);
    await page.evaluate("socket.close(4000, 'seen enough')");
    await waitForLog(page, [
      'open',
      'text Grüße, 世界',
      `binary ${MIB} true`,
      'closed 4000 seen enough true',
    ]);
    await eventually(20_000, () => assert.equal(closes.at(-1), '4000 seen enough'));

    (await connect()).close(4321, 'out of stock');
    await waitForLog(page, ['open', 'closed 4321 out of stock true']);
    (await connect()).close(1012, '');
    await waitForLog(page, ['open', 'closed 1012  true']);
    (await connect()).terminate();
    await waitForLog(page, ['open', 'closed 1006  false']);
  });

  it('by server-sent events: each as it is sent, and again after the relay was killed and started', async () => {
    const listeners = new Set<ServerResponse>();
    const lastIds: (string | undefined)[] = [];
    const { page, culvert } = await openPage(
      `<script>
        const log = [];
        const source = new EventSource('events');
        source.onopen = () => log.push('open');
        source.onerror = () => log.push('error ' + source.readyState);
        source.onmessage = ({ lastEventId, data }) => log.push('message ' + lastEventId + ' ' + data);
        source.addEventListener('order', ({ lastEventId, data }) => log.push('order ' + lastEventId + ' ' + data));
      </script>`,
      (request, response) => {
        lastIds.push(request.headers['last-event-id'] as string | undefined);
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write('retry: 200\n\n');
        listeners.add(response);
        response.once('close', () => listeners.delete(response));
      },
    );
    const send = (text: string): void => {
      for (const response of listeners) response.write(text);
    };
    const expected = ['open'];
    await waitForLog(page, expected);
    // Each is sent when the previous one has arrived: nothing may wait for more data.
    for (const [sent, seen] of [
      ['data: first\n\n', 'message  first'],
      ['id: 7\ndata: two\ndata: lines\n\n', 'message 7 two\nlines'],
      [': nothing to say\n\nevent: order\ndata: 2 × 世界\n\n', 'order 7 2 × 世界'],
    ] as const) {
      send(sent);
      expected.push(seen);
      await waitForLog(page, expected);
    }

    const isBack = culvert.nextEvent('online', 30_000);
    await relay.stop('SIGKILL');
    await eventually(20_000, async () => assert.equal((await logOf(page))[expected.length], 'error 0'));
    await relay.restart();
    await isBack;
    await eventually(20_000, async () => assert.equal((await logOf(page)).at(-1), 'open'));
    assert.deepEqual([lastIds[0], lastIds.at(-1)], [undefined, '7']);
    send('id: 8\ndata: back\n\n');
    await eventually(20_000, async () => assert.equal((await logOf(page)).at(-1), 'message 8 back'));
  });

  it('by an upload whose progress follows the reads of the service', async () => {
    const { page } = await openPage(UPLOAD_PAGE, (request, response) => {
      takeUpload(request).then(
        (sha256) => response.end(sha256),
        () => response.destroy(),
      );
    });
    const tap = { taken: 0, allowed: 0, more: Promise.withResolvers<void>() };
    /** Reads as much as is allowed, then waits until more is. @returns the checksum of everything */
    async function takeUpload(request: AsyncIterable<Buffer>): Promise<string> {
      const hash = createHash('sha256');
      for await (const chunk of request) {
        hash.update(chunk);
        tap.taken += chunk.length;
        while (tap.taken > tap.allowed) {
          tap.more = Promise.withResolvers<void>();
          await tap.more.promise;
        }
      }
      return hash.digest('hex');
    }

    await page.evaluate(`upload(${UPLOAD_BYTES})`);
    for (let step = UPLOAD_STEP_BYTES; step <= UPLOAD_BYTES; step += UPLOAD_STEP_BYTES) {
      tap.allowed = step;
      tap.more.resolve();
      await eventually(20_000, async () => {
        const loaded = await page.evaluate<number>('progress.at(-1) ?? 0');
        assert.ok(loaded <= tap.taken + ON_THE_WAY_BYTES, `${loaded} sent, but ${tap.taken} taken`);
        assert.ok(loaded >= step, `${loaded} sent, and ${step} could be`);
      });
    }
    await eventually(20_000, async () => {
      const { sha256, answer } = await page.evaluate<{ sha256: string; answer?: string }>('result');
      assert.equal(answer, `200 ${sha256}`);
    });
    const progress = await page.evaluate<number[]>('progress');
    assert.ok(progress.length >= 3, progress.join());
    assert.deepEqual(
      progress,
      [...new Set(progress)].sort((a, b) => a - b),
    );
    assert.equal(progress.at(-1), UPLOAD_BYTES);
  });
});

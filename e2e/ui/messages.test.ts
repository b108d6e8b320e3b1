/** The messages of WebSockets and event streams: through a real tunnel, while they are open and once they have ended. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../support/deadline.ts';
import type { Scope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';

/** A service with a WebSocket that echoes in compressed messages, and a stream of events. */
async function startLiveService(scope: Scope) {
  const streams: ServerResponse[] = [];
  const { server, port } = await startHttpService(scope, (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    streams.push(response);
  });
  const sockets = new WebSocketServer({ server, perMessageDeflate: { threshold: 0 } });
  scope.defer(() => sockets.close());
  sockets.on('connection', (socket) => {
    socket.on('error', () => socket.terminate());
    socket.on('message', (message, isBinary) => socket.send(message as Buffer, { binary: isBinary }));
  });
  const send = (text: string): void => streams.at(-1)?.write(text) as unknown as void;
  return { port, send, endStream: () => streams.at(-1)?.end() };
}

async function connect(scope: Scope, url: string): Promise<WebSocket> {
  const { host, port, pathname } = new URL(url);
  const socket = new WebSocket(`ws://127.0.0.1:${port}${pathname}`, { headers: { host } });
  scope.defer(() => socket.terminate());
  socket.on('error', () => socket.terminate());
  await once(socket, 'open');
  return socket;
}

async function listen(scope: Scope, url: string): Promise<IncomingMessage> {
  const { host, port, pathname } = new URL(url);
  const request = httpRequest({ host: '127.0.0.1', port, path: pathname, headers: { host } });
  scope.defer(() => request.destroy());
  request.on('error', () => request.destroy());
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response.resume();
}

const row = (page: Page, name: RegExp) => page.getByRole('button', { name });
const messages = (page: Page) => page.getByRole('list', { name: 'Messages' }).getByRole('button');

scenarios('messages of an open connection', (fixture) => {
  /** @param visit opens a connection of a visitor, whose row is shown then beside its request */
  async function open<T>(visit: (scope: Scope, url: string) => Promise<T>) {
    const { scope } = fixture;
    const [service, { page, app }] = await Promise.all([startLiveService(scope), fixture.openSignedIn()]);
    const slug = await expose(page, service.port);
    const visitor = await visit(scope, (await app.tunnel()).url);
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    await page.setViewportSize({ width: 1440, height: 900 });
    return { visitor, page, service };
  }

  it('are counted in its row, and listed with its end, of a WebSocket', async () => {
    const { page, visitor: socket } = await open((scope, url) => connect(scope, `${url}/live`));
    await row(page, /^WS \/live No messages 101 open/).click();
    socket.send('{"subscribe":["orders"]}');
    socket.send(Buffer.from([0, 1, 254, 255]));
    await row(page, /^WS \/live 2 messages from the visitor, 2 from your server 101 open/).waitFor();
    await page.getByRole('tab', { name: 'Messages 4', selected: true }).waitFor();
    await page.getByText('The messages are compressed (permessage-deflate).').waitFor();
    await eventually(20_000, async () => assert.equal(await messages(page).count(), 4));
    await messages(page).last().click();
    await page.getByText(/^Message 1, from the visitor, text, /).waitFor();
    await page.getByRole('treeitem', { name: /orders/ }).waitFor();
    await page.keyboard.press('ArrowUp');
    await page.getByText(/^Message [23], /).waitFor();
    await assertReadable(page, 'messages');

    const before = await messages(page).count();
    socket.close(4321, 'out of stock');
    await row(page, /^WS \/live 2 messages from the visitor, 2 from your server 101 (?!open)/).waitFor();
    await page.getByText(/^ended /).waitFor();
    await eventually(20_000, async () => assert.equal(await messages(page).count(), before + 2));
    assert.match(await messages(page).first().innerText(), /close 4321 out of stock/);
    await page.getByText('2 control frames').waitFor();
  });

  it('are counted in its row, and listed with type and id, of an event stream', async () => {
    const { page, service } = await open((scope, url) => listen(scope, `${url}/events`));
    await row(page, /^SSE \/events No events 200 open/).click();
    service.send(': hello\n\nevent: price\nid: 7\ndata: {"eur":');
    service.send('12}\n\ndata: two\r\ndata: lines\r\n\r\n');
    await row(page, /^SSE \/events 2 events 200 open/).waitFor();
    await eventually(20_000, async () => assert.equal(await messages(page).count(), 3));
    assert.match(await messages(page).nth(1).innerText(), /price \{"eur":12\}/);
    await page.getByLabel('Filter messages').fill('price 7');
    await eventually(20_000, async () => assert.equal(await messages(page).count(), 1));
    await page.getByRole('tab', { name: 'Events 2', selected: true }).waitFor();
    await messages(page).first().click();
    await page.getByText(/^Message 2, from your server, price, .*, id 7$/).waitFor();
    service.endStream();
    await row(page, /^SSE \/events 2 events 200 (?!open)/).waitFor();
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';

scenarios('a WebSocket in the log', (fixture) => {
  it('lists its messages one by one, compressed ones too, with a filter and each in full', async () => {
    const service = await startHttpService(fixture.scope, (_, response) => response.end());
    const sockets = new WebSocketServer({
      server: service.server,
      perMessageDeflate: { threshold: 0 },
    });
    fixture.scope.defer(() => sockets.close());
    sockets.on('connection', (socket) => {
      socket.on('error', () => socket.terminate());
      socket.on('message', (message: Buffer) => {
        socket.send(`{"price":${message.length},"currency":"EUR"}`);
        socket.send(Buffer.from([0, 1, 254, 255]));
      });
    });
    const { page, app } = await fixture.openSignedIn();
    const slug = await expose(page, service.port);
    const { host, port } = new URL((await app.tunnel()).url);
    const visitor = new WebSocket(`ws://127.0.0.1:${port}/live`, { headers: { host } });
    fixture.scope.defer(() => visitor.terminate());
    await once(visitor, 'open');
    visitor.send('subscribe to prices');
    await once(visitor, 'message');

    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    await page.getByRole('button', { name: /GET \/live 101/ }).click();
    const list = page.getByRole('list', { name: 'Messages' });
    const rows = list.getByRole('button');
    await eventually(20_000, async () => {
      const texts = await rows.allInnerTexts();
      assert.equal(texts.length, 3);
      assert.match(texts[0] ?? '', /from your server.*binary 00 01 fe ff.*\d\d\.\d{3}/s);
      assert.match(texts[1] ?? '', /from your server.*\{"price":19,"currency":"EUR"\}/s);
      assert.match(texts[2] ?? '', /from the visitor.*subscribe to prices/s);
    });

    // New ones appear while it is open.
    visitor.send('!');
    await eventually(20_000, async () => assert.equal(await rows.count(), 6));
    await page.getByLabel('Filter messages').fill('price eur');
    await eventually(20_000, async () => assert.equal(await rows.count(), 2));
    await rows.first().click();
    await page.getByText(/Message 5, from your server, text, .* \(compressed to /).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.getByText(/Message 2, from your server/).waitFor();
    await page.getByRole('button', { name: 'Hex', exact: true }).click();
    await page.getByText('7b 22 70 72', { exact: false }).waitFor();
    await page.getByLabel('Filter messages').fill('');
    await page.getByRole('button', { name: 'Visitor', exact: true }).click();
    await eventually(20_000, async () => assert.equal(await rows.count(), 2));
  });
});

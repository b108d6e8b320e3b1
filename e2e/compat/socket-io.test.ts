/** socket.io in a browser through a tunnel: polling first, then WebSocket, and back after the relay was restarted. */
import assert from 'node:assert/strict';
import { Culvert, Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import { openPage, Project } from './project.ts';
import { startBrowser } from '../support/browser.ts';

const SERVER = `
  import { createServer } from 'node:http';
  import { Server } from 'socket.io';
  const page = \`<script src="/socket.io/socket.io.js"></script><script>
    // The transports of the connection so far.
    const log = [];
    const socket = io({ reconnectionDelay: 100, reconnectionDelayMax: 500 });
    // Not the socket's "connect", which may come through the WebSocket, after the upgrade.
    socket.io.on('open', () => {
      const { engine } = socket.io;
      log.push('opened by ' + engine.transport.name);
      engine.on('upgrade', (transport) => log.push('upgraded to ' + transport.name));
    });
    socket.on('disconnect', () => log.push('disconnected'));
  </script>\`;
  const server = createServer((request, response) => response.setHeader('Content-Type', 'text/html').end(page));
  const io = new Server(server);
  io.on('connection', (socket) => socket.on('echo', (value, answer) => answer(value)));
  server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'));
`;

describe('socket.io behind a tunnel', () => {
  const scope = suiteScope();

  it('polls, upgrades to WebSocket, and does so again after a relay restart', async () => {
    const relay = await Relay.start(scope);
    const project = new Project(scope, { 'server.mjs': SERVER });
    const port = await closedPort();
    await project.run(scope, 'server.mjs', [String(port)], /listening/);
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, port, ['--name', 'io']);
    const { page, webSockets } = await openPage(
      await startBrowser(scope),
      `http://io.localhost:${relay.port}/`,
    );
    const logHas = async (count: number): Promise<string[]> => {
      // Without success, the caller's assertion shows the actual state.
      await page.waitForFunction(`log.length >= ${count}`).catch(() => undefined);
      return await page.evaluate<string[]>('log');
    };
    const echo = async (value: string): Promise<unknown> =>
      await page.evaluate(`socket.timeout(10_000).emitWithAck('echo', ${JSON.stringify(value)})`);

    const first = ['opened by polling', 'upgraded to websocket'];
    assert.deepEqual(await logHas(2), first);
    assert.equal(await echo('one'), 'one');

    const isBack = culvert.nextEvent('online', 30_000);
    await relay.stop('SIGKILL');
    assert.deepEqual(await logHas(3), [...first, 'disconnected']);
    await relay.restart();
    await isBack;
    assert.deepEqual(await logHas(5), [...first, 'disconnected', ...first]);
    assert.equal(await echo('two'), 'two');
    assert.ok(webSockets.length >= 2);
  });
});

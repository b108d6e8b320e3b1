import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { TUNNEL } from '../testing/fake-platform.ts';
import { closeServers, startRestRelay, startTunnelRelay } from '../testing/servers.ts';
import culvert from './vite.ts';

/** Starts the plugin of a Vite whose server listens. */
function start(relay: string, logger: { info(line: string): void; error(line: string): void }) {
  const plugin = culvert({ relay, key: `cvt_${'k'.repeat(32)}` });
  const httpServer = Object.assign(new EventEmitter(), {
    address: () => ({ address: '127.0.0.1', family: 'IPv4', port: 1 }),
  });
  plugin.configureServer({ httpServer, config: { server: {}, logger } });
  httpServer.emit('listening');
  return plugin;
}

describe('the Vite plugin', () => {
  afterEach(closeServers);

  it('does not keep Vite from ending while it waits for the rate limit', async () => {
    const { address, calls } = await startRestRelay(() => [
      429,
      { error: 'rate limit exceeded' },
      { 'retry-after': '60' },
    ]);
    const waits = once(process, 'warning');
    const plugin = start(address.origin, { info: assert.fail, error: assert.fail });
    await waits;
    await plugin.closeBundle();
    assert.equal(calls.length, 1);
  });

  it('says why its tunnel has ended, unless Vite ends', async () => {
    for (const isVite of [false, true]) {
      const { relay, control } = await startTunnelRelay();
      const opening = control();
      const lines = new EventEmitter();
      const errors: string[] = [];
      const plugin = start(relay, {
        info: (line) => lines.emit('info', line),
        error(line) {
          errors.push(line);
          lines.emit('error-line');
        },
      });
      const [socket] = await Promise.all([opening, once(lines, 'info')]);
      if (!isVite) {
        socket.close(4001);
        await once(lines, 'error-line');
      }
      await plugin.closeBundle();
      assert.deepEqual(
        errors,
        isVite ? [] : [`culvert: ${TUNNEL.public_url} is no longer available. The tunnel was closed.`],
      );
    }
  });
});

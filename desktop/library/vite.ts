/** `import culvert from '@culvert/culvert/vite'`; its public types are in types/vite.d.ts. */
import type { AddressInfo } from 'node:net';
import { expose } from './index.ts';
import { hostAt } from './own-server.ts';
import type { Tunnel, TunnelOptions } from './types/index.d.ts';

interface Logger {
  info(text: string): void;
  error(text: string): void;
}

/** The part of Vite's dev server that this plugin uses. */
interface DevServer {
  readonly httpServer: {
    once(event: 'listening' | 'close', listener: () => void): unknown;
    address(): AddressInfo | string | null;
  } | null;
  readonly config: {
    readonly server: { readonly https?: unknown };
    readonly logger: Logger;
  };
}

/**
 * Resolves when the previous tunnel is closed: Vite starts a new server when its configuration changes, and the next
 * tunnel needs the same name.
 */
let closed: Promise<void> = Promise.resolve();

function tokenLines(tokens: Tunnel['tokens']): string {
  return Object.entries(tokens)
    .map(([name, token]) => `\n  ➜  Token:   ${name}: ${token}`)
    .join('');
}

/** Prints the address, or why the tunnel could not be opened, and later why it ended. @param ends aborted for an intended end */
async function announce(opened: Promise<Tunnel>, logger: Logger, ends: AbortSignal): Promise<void> {
  try {
    const tunnel = await opened;
    logger.info(`  ➜  Public:  ${tunnel.url}${tokenLines(tunnel.tokens)}`);
    tunnel.on('offline', (why) => {
      if (!ends.aborted) logger.error(`culvert: ${tunnel.url} is no longer available. ${why}`);
    });
  } catch (error) {
    if (!ends.aborted) logger.error(`culvert: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** See types/vite.d.ts. */
export default function culvert(options: TunnelOptions = {}) {
  let opened: Promise<Tunnel> | undefined;
  let stop = new AbortController();

  function open(address: AddressInfo, { server, logger }: DevServer['config']): void {
    // Vite accepts only known hosts, which include its own name.
    const local = {
      port: address.port,
      host: hostAt(address),
      https: server.https !== undefined,
      hostHeader: 'local',
    };
    stop = new AbortController();
    const signal =
      options.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.signal]);
    opened = closed.then(() => expose({ ...local, ...options, signal }));
    void announce(opened, logger, signal);
  }

  function close(): Promise<void> {
    // The tunnel may still be waiting for the relay.
    stop.abort();
    if (opened !== undefined) closed = opened.then((tunnel) => tunnel.close()).catch(() => {});
    return closed;
  }

  return {
    name: 'culvert',
    apply: 'serve',
    configureServer({ httpServer, config }: DevServer): void {
      httpServer?.once('listening', () => {
        const address = httpServer.address();
        if (address !== null && typeof address === 'object') open(address, config);
      });
      httpServer?.once('close', () => void close());
    },
    // Vite waits for this before it exits.
    closeBundle: close,
  } as const;
}

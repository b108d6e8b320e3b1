/** Servers of this process that a tunnel may lead to. */
import { once } from 'node:events';
import { createServer, type RequestListener, Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { AppWithCallback } from './types/index.d.ts';

export type Exposable = Server | SecureServer | RequestListener | AppWithCallback;

/** A server that listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly https: boolean;
  /** Ends the server if it was started for the tunnel; never rejects. */
  close(): Promise<void>;
}

export function isExposable(value: object): value is Exposable {
  return (
    typeof value === 'function' ||
    value instanceof Server ||
    value instanceof SecureServer ||
    'callback' in value
  );
}

/** Has a server or an app listen on a port of loopback, unless it listens already. */
export async function listening(what: Exposable): Promise<Listening> {
  const server = serverOf(what);
  const https = server instanceof SecureServer;
  const isStarted = !server.listening;
  if (isStarted) await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new TypeError('expose takes a server that listens on a port, not on a path');
  return {
    host: hostAt(address),
    port: address.port,
    https,
    close: () => (isStarted ? end(server) : Promise.resolve()),
  };
}

/** The host by which this machine reaches a server that listens there. */
export function hostAt({ address }: AddressInfo): string {
  return address === '::' || address === '0.0.0.0' ? 'localhost' : address;
}

function serverOf(what: Exposable): Server | SecureServer {
  if (what instanceof Server || what instanceof SecureServer) return what;
  return createServer(typeof what === 'function' ? what : what.callback());
}

function end(server: Server | SecureServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

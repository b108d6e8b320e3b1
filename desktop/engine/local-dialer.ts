import type { Socket } from 'node:net';
import { dial } from './dial.ts';
import { LOCAL_CONNECT_TIMEOUT_MS } from './limits.ts';

/** Thrown when nothing takes connections on the local port. */
export class LocalRefused extends Error {}

/** Never another host than this machine: a tunnel exposes the port its owner chose and nothing behind it. */
const LOOPBACK = ['127.0.0.1', '::1'] as const;

/**
 * Connects to a port of this machine. Some servers listen on IPv4 only, others on IPv6 only; the address that answered
 * last is tried first.
 */
export class LocalDialer {
  readonly port: number;
  #hosts: readonly string[] = LOOPBACK;

  constructor(port: number) {
    this.port = port;
  }

  /**
   * @param signal destroys the socket when aborted, before and after it is connected
   * @returns a connected socket, as {@link dial} gives it
   * @throws LocalRefused
   */
  async connect(signal: AbortSignal): Promise<Socket> {
    let cause: unknown;
    for (const host of this.#hosts) {
      try {
        const socket = await dial({ host, port: this.port, timeoutMs: LOCAL_CONNECT_TIMEOUT_MS, signal });
        if (isConnectedToItself(socket)) {
          socket.destroy();
          continue;
        }
        if (host !== this.#hosts[0]) this.#hosts = this.#hosts.toReversed();
        return socket;
      } catch (error) {
        cause = error;
        if (signal.aborted) break;
      }
    }
    throw new LocalRefused(`nothing answers on port ${this.port}`, { cause });
  }
}

/**
 * A port of the ephemeral range that nobody listens on may be given to the very socket that dials it; TCP then
 * connects the socket to itself (simultaneous open, RFC 9293 section 3.5) and it would echo the request.
 */
function isConnectedToItself(socket: Socket): boolean {
  return socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress;
}

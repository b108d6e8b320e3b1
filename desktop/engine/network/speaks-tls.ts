import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { TLS_PROBE_TIMEOUT_MS } from '../limits.ts';
import { lookupFor } from './loopback.ts';
import type { Endpoint } from './network.ts';

/** Whether a server speaks TLS, whoever has signed its certificate. Nothing is said to it beyond the handshake. */
export function speaksTls({ hostname, port }: Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const servername = isIP(hostname) === 0 ? hostname : undefined;
    const lookup = lookupFor(hostname);
    const socket = connect({ host: hostname, port, servername, lookup, rejectUnauthorized: false });
    const settle = (answer: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // Not the time without a byte: a server that sends one now and then would be waited for without end.
    const timer = setTimeout(() => settle(false), TLS_PROBE_TIMEOUT_MS);
    socket.once('secureConnect', () => settle(true));
    socket.on('error', () => settle(false));
  });
}

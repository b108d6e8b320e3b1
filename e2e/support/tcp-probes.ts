import { readFileSync } from 'node:fs';

/** One end of an established connection on 127.0.0.1. */
export interface ConnectionEnd {
  readonly port: number;
  readonly peerPort: number;
  /** ms after which Linux probes whether the peer is still there (TCP keep-alive); `undefined`: never */
  readonly probeIn: number | undefined;
  /** bytes that were written and are not with the peer's system */
  readonly unsent: number;
  /** bytes that have come and nobody has read */
  readonly unread: number;
}

// The columns of /proc/net/tcp: both addresses, state 1 for established, queues, timer 2 for keep-alive, its ticks of 10 ms.
const LINE =
  / 0100007F:([0-9A-F]{4}) 0100007F:([0-9A-F]{4}) 01 ([0-9A-F]{8}):([0-9A-F]{8}) (\d\d):([0-9A-F]{8}) /g;

/** All ends of established IPv4 connections on loopback. */
export function connectionEnds(): ConnectionEnd[] {
  return [...readFileSync('/proc/net/tcp', 'utf8').matchAll(LINE)].map(
    ([, port = '', peerPort = '', unsent = '', unread = '', timer, ticks = '']) => ({
      port: Number.parseInt(port, 16),
      peerPort: Number.parseInt(peerPort, 16),
      probeIn: timer === '02' ? Number.parseInt(ticks, 16) * 10 : undefined,
      unsent: Number.parseInt(unsent, 16),
      unread: Number.parseInt(unread, 16),
    }),
  );
}

import type { Peer } from './peer.ts';

/** No tunnel and no proxy: the visitor talks to the local service. */
export const direct: Peer = {
  name: 'direct',
  title: 'the local service itself',
  start: (_scope, servicePort) =>
    Promise.resolve({
      port: servicePort,
      host: '127.0.0.1',
      relayPids: () => [],
      clientPids: () => [],
    }),
};

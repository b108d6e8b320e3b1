/** The relay that the app is signed in to. */
import type { ApiClient } from '../engine/relay/api-client.ts';
import type { RelayAddress } from '../engine/relay/relay-address.ts';

/** The calls of the REST interface that the app makes. */
export type RelayApi = Pick<
  ApiClient,
  'getAccount' | 'createTunnel' | 'listTunnels' | 'closeTunnel' | 'extendTunnel'
>;

/** What a signed-in app needs to work. */
export interface Connection {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly api: RelayApi;
}

/** What is checked hop by hop, and who asks: the command and the app name other remedies. */
import type { Sayable } from '../engine/said/said.ts';
import type { LocalTarget } from '../engine/local/local-target.ts';
import type { Network } from '../engine/network/network.ts';
import type { RelayAddress } from '../engine/relay/relay-address.ts';

/** A relay, a key for it, and the way there. */
export interface RelayAccess {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly network: Network;
}

/** A local port, or a folder whose files are served in place of one. */
export type LocalService = LocalTarget | { readonly folder: string };

export interface Subject extends Pick<RelayAccess, 'relay' | 'network'> {
  /** where the relay's address is from, for people */
  readonly relayFrom: Sayable;
  /** `undefined` if there is none */
  readonly key: string | undefined;
  /** where the key is from, for people */
  readonly keyFrom: Sayable;
  /** @throws HopFailure if there is no key that could be one */
  readonly requireKey: () => string;
  /** what a tunnel leads to; `undefined` for none */
  readonly local: LocalService | undefined;
  readonly remedies: Remedies;
}

/** What to do, in sentences, where that depends on who asks. */
export interface Remedies {
  readonly noKey: Sayable;
  readonly badKey: Sayable;
  readonly certificate: Sayable;
  /** why there is no local service to check */
  readonly noLocal: Sayable;
  readonly local: Sayable;
}

/** The relay that the app is signed in to. */
import { basename } from 'node:path';
import type { ApiClient } from '../../client/relay/api-client.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import { t } from '../messages/translate.ts';
import { CallFailure } from './failure.ts';

/** The calls of the REST interface that the app makes. */
export type RelayApi = Pick<
  ApiClient,
  | 'getAccount'
  | 'createTunnel'
  | 'listTunnels'
  | 'closeTunnel'
  | 'extendTunnel'
  | 'setAccess'
  | 'createLink'
  | 'listLinks'
  | 'deleteLink'
  | 'listKnocks'
  | 'answerKnock'
  | 'listDomains'
  | 'addDomain'
  | 'verifyDomain'
  | 'removeDomain'
>;

/** What a signed-in app needs to work. */
export interface Connection {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly api: RelayApi;
}

/** @throws CallFailure if nobody is signed in */
export function signedIn(connection: Connection | undefined): Connection {
  if (connection !== undefined) return connection;
  throw new CallFailure({ code: 'signed-out', text: t('session.signedOutFirst') });
}

/** An event that happens again and again, sent to all listeners. */
export class Signal<T = void> {
  readonly #listeners = new Set<(value: T) => void>();

  /** @returns call it to stop listening */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells all current listeners, in the order in which they came. */
  emit(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}

/** As people call it. The root of a disk has no other name than its path. */
export function folderName(path: string): string {
  return basename(path) || path;
}

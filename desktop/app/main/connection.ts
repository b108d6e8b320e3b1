/** The relay that the app is signed in to. */
import type { ApiClient } from '../../client/relay/api-client.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import { t } from '../messages/translate.ts';
import { CallFailure } from './failure.ts';

/** The calls of the REST interface that the app makes. */
export type RelayApi = Pick<
  ApiClient,
  | 'now'
  | 'getAccount'
  | 'createTunnel'
  | 'listTunnels'
  | 'getTunnel'
  | 'closeTunnel'
  | 'extendTunnel'
  | 'setAccess'
  | 'keepName'
  | 'listNames'
  | 'changeName'
  | 'releaseName'
  | 'createLink'
  | 'listLinks'
  | 'deleteLink'
  | 'listAgents'
  | 'revokeAgent'
  | 'listKnocks'
  | 'answerKnock'
  | 'listDomains'
  | 'addDomain'
  | 'verifyDomain'
  | 'removeDomain'
  | 'listTeam'
  | 'inviteToTeam'
  | 'revokeFromTeam'
  | 'teamAudit'
>;

/** A relay, and the key for it. */
export interface Connection {
  readonly relay: RelayAddress;
  readonly key: string;
  readonly api: RelayApi;
}

/** @throws CallFailure while signed out */
export function signedIn(connection: Connection | undefined): Connection {
  if (connection !== undefined) return connection;
  throw new CallFailure({ code: 'signed-out', text: t('failure.signedOut') });
}

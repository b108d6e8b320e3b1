/**
 * The load of relays on Redis (docs/decisions/0009-cluster.md) per second: a model on paper, checked by
 * `e2e/cluster/traffic-model.test.ts`.
 */
import {
  ALL_CHANNEL,
  channelOf,
  NewsSeal,
  writeAnnouncement,
  writeNews,
} from '../../../server/cluster/news.ts';
import {
  ANNOUNCE,
  ASSERT,
  CLAIM,
  LEASE,
  RELAYS,
  RELEASE,
  type Script,
} from '../../../server/cluster/scripts.ts';
import { LEASE_RENEW_MS, PRESENCE_BATCH, PRESENCE_REPEAT_MS } from '../../../server/limits.ts';
import { callBytes, listBytes, messageBytes, textBytes } from './resp.ts';
import type { Scenario } from './scenario.ts';
import { REDIS_US, TUNNEL_ENTRY_BYTES } from './unit-costs.ts';

// Texts of the same length as the real ones.
const ID = 'x'.repeat(36);
const INCARNATION = 'x'.repeat(16);
const NUMBER = '12345';
/** host, port and proof */
const ADDRESS = `127.0.0.1:40000~${'0'.repeat(64)}`;
const FENCE = '1'.repeat(16);
const CLOSE_CODE = '1001';
const KEEP_MS = '900000';
const OWN_CHANNEL = channelOf(INCARNATION);
const SEAL = new NewsSeal(INCARNATION, 'x'.repeat(32));
const CHANGE = SEAL.seal(writeNews({ kind: 'extended', id: ID, expiresAt: 1_800_000_000_000 }));
const ANNOUNCEMENT = SEAL.seal(writeAnnouncement(ID, ID));
const RELAY_LISTED = [NUMBER, INCARNATION, ADDRESS];
const NUMBER_ANSWER_BYTES = 4;
const NULL_ANSWER_BYTES = 5;

export interface RedisDemand {
  /** scripts run a second, by name */
  readonly scripts: Readonly<Record<string, number>>;
  readonly scriptsPerSecond: number;
  /** messages published a second */
  readonly published: number;
  /** messages handed to relays a second */
  readonly delivered: number;
  /** a second */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** of one core, from 0; above 1 is more than Redis has */
  readonly load: number;
  /** bytes */
  readonly memory: number;
  readonly connections: number;
}

/** One kind of script. */
interface Kind {
  readonly script: Script;
  readonly perSecond: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly us: number;
  /** bytes of the message that one relay gets */
  readonly toOne?: number;
  /** bytes of the message that all get */
  readonly toAll?: number;
}

export function redisDemand(scenario: Scenario): RedisDemand {
  const { relays, changes } = scenario;
  const kinds = kindsOf(scenario);
  const sum = (of: (kind: Kind) => number): number =>
    kinds.reduce((total, kind) => total + kind.perSecond * of(kind), 0);
  // Relays tell everyone about a change without a script.
  const changeBytes = messageBytes(ALL_CHANNEL, CHANGE);
  const toAll = sum(({ toAll: bytes }) => (bytes === undefined ? 0 : 1)) + changes;
  const toOne = sum(({ toOne: bytes }) => (bytes === undefined ? 0 : 1));
  const toAllBytes = sum(({ toAll: bytes = 0 }) => bytes) + changes * changeBytes;
  return {
    scripts: Object.fromEntries(kinds.map(({ script, perSecond }) => [script.name, perSecond])),
    scriptsPerSecond: sum(() => 1),
    published: toAll + toOne,
    delivered: toAll * relays + toOne,
    bytesIn: sum(({ bytesIn }) => bytesIn) + changes * listBytes(['publish', ALL_CHANNEL, CHANGE]),
    bytesOut:
      sum(({ bytesOut, toOne: bytes = 0 }) => bytesOut + bytes) +
      toAllBytes * relays +
      changes * NUMBER_ANSWER_BYTES,
    load: (sum(({ us }) => us) + changes * REDIS_US.publish + toAll * relays * REDIS_US.delivery) / 1e6,
    memory: scenario.tunnels * TUNNEL_ENTRY_BYTES,
    connections: 2 * relays,
  };
}

function kindsOf(scenario: Scenario): Kind[] {
  const { relays, tunnels, reconnects, requests, requestsPerConnection, elsewhere } = scenario;
  const renewals = (relays * 1000) / LEASE_RENEW_MS;
  const entry = [NUMBER, INCARNATION, ID, KEEP_MS];
  const perBatch = Math.min(PRESENCE_BATCH, tunnels / relays);
  const told = Array.from({ length: Math.round(perBatch) }, () => [ID, FENCE, ID]).flat();
  return [
    {
      script: LEASE,
      perSecond: renewals,
      bytesIn: callBytes([NUMBER, INCARNATION, ADDRESS, '10000']),
      bytesOut: NUMBER_ANSWER_BYTES,
      us: REDIS_US.lease,
    },
    {
      script: RELAYS,
      perSecond: renewals,
      bytesIn: callBytes([]),
      bytesOut: listBytes(Array.from({ length: relays }, () => RELAY_LISTED).flat()),
      us: REDIS_US.relays + relays * REDIS_US.relayListed,
    },
    {
      script: ASSERT,
      perSecond: (relays * Math.ceil(tunnels / relays / PRESENCE_BATCH) * 1000) / PRESENCE_REPEAT_MS,
      bytesIn: callBytes([NUMBER, INCARNATION, KEEP_MS, ...told]),
      bytesOut: NUMBER_ANSWER_BYTES,
      us: perBatch * REDIS_US.told,
    },
    {
      script: CLAIM,
      perSecond: reconnects,
      bytesIn: callBytes([ID, ...entry]),
      bytesOut: textBytes(FENCE),
      us: REDIS_US.claim,
      toAll: messageBytes(ALL_CHANNEL, `online ${ID}`),
    },
    {
      script: RELEASE,
      perSecond: reconnects,
      bytesIn: callBytes([ID, INCARNATION, KEEP_MS, CLOSE_CODE]),
      bytesOut: NULL_ANSWER_BYTES,
      us: REDIS_US.claim,
      toAll: messageBytes(ALL_CHANNEL, `offline ${ID} ${CLOSE_CODE}`),
    },
    {
      script: ANNOUNCE,
      perSecond: (requests / requestsPerConnection) * elsewhere,
      bytesIn: callBytes([ID, ANNOUNCEMENT, INCARNATION]),
      bytesOut: textBytes(ID),
      us: REDIS_US.announce,
      toOne: messageBytes(OWN_CHANNEL, ANNOUNCEMENT),
    },
  ];
}

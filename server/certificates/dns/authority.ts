/** The relay's response to a query: a function of the query and of the pending challenges. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { ChallengeRecord } from '../../store/records.ts';
import type { ChallengeSolver } from '../challenge-solver.ts';
import {
  authorityRecord,
  type BadQuery,
  CLASS_IN,
  type Content,
  type DnsRecord,
  FIRST_META_TYPE,
  nameServerRecord,
  NO_ANY,
  type Query,
  readQuery,
  RecordType,
  ResponseCode as Code,
  textName,
  textRecord,
  type Transport,
  wireName,
  writeRefusal,
  writeResponse,
} from './wire.ts';

/** How long challenges that were read from the database are cached. */
export const DNS_TEXTS_MS = 500;

/** Texts of challenges, by the name they are requested at, as {@link wireName} returns it. */
export type ChallengeTexts = ReadonlyMap<string, readonly string[]>;

interface AuthorityOptions {
  readonly zones: Zones;
  /** host name of the relay */
  readonly nameServer: string;
  /** see {@link authorityRecord} */
  readonly mark: string;
}

/** The authority for the zones of a relay. */
export class Authority {
  readonly #zones: Zones;
  readonly #soa: DnsRecord;
  readonly #nameServer: DnsRecord;

  /** @throws RangeError if `nameServer` is not a domain name */
  constructor({ zones, nameServer, mark }: AuthorityOptions) {
    this.#zones = zones;
    this.#soa = authorityRecord(nameServer, mark);
    this.#nameServer = nameServerRecord(nameServer);
  }

  /** @returns the question, a response that needs no texts, or `undefined` for packets without a response */
  read(packet: Buffer, transport: Transport): Question | Buffer | undefined {
    const query = readQuery(packet);
    if (query === undefined) return undefined;
    if (isBad(query)) return writeRefusal(query);
    const refusal = this.#refusal(query);
    if (refusal !== undefined) return writeResponse(query, { code: refusal }, transport);
    const found = this.#zones.find(query.name);
    if (found === undefined) return writeResponse(query, { code: Code.refused }, transport);
    return { query, found };
  }

  /** @param texts `undefined` if they cannot be read at present */
  respond({ query, found }: Question, texts: ChallengeTexts | undefined, transport: Transport): Buffer {
    if (texts === undefined) return writeResponse(query, { code: Code.serverFailure }, transport);
    return writeResponse(query, this.#content(query, found, texts), transport);
  }

  #refusal({ edns, type, class: of }: Query): Code | undefined {
    if (edns !== undefined && edns.version !== 0) return Code.badVersion;
    const isMeta = type === RecordType.OPT || (type >= FIRST_META_TYPE && type < RecordType.ANY);
    return isMeta || of !== CLASS_IN ? Code.refused : undefined;
  }

  #content({ type }: Query, { apex, offset }: Found, texts: ChallengeTexts): Content {
    const nothing = { authoritative: true, authority: [this.#soa], apexOffset: offset };
    // Zones have no names below their own.
    if (offset > 0) return { ...nothing, code: Code.noSuchName };
    const answers = this.#records(type, texts.get(apex) ?? []);
    return answers.length === 0
      ? { ...nothing, code: Code.ok }
      : { code: Code.ok, authoritative: true, answers };
  }

  #records(type: number, texts: readonly string[]): readonly DnsRecord[] {
    switch (type) {
      case RecordType.TXT:
        return texts.map(textRecord);
      case RecordType.SOA:
        return [this.#soa];
      case RecordType.NS:
        return [this.#nameServer];
      case RecordType.ANY:
        return [NO_ANY];
      default:
        return [];
    }
  }
}

/** A query for a name of the relay's zones. */
export interface Question {
  readonly query: Query;
  readonly found: Found;
}

/** Converts challenges for lookups. */
export function challengeTexts(
  pending: readonly { readonly name: string; readonly text: string }[],
): ChallengeTexts {
  const texts = new Map<string, string[]>();
  for (const { name, text } of pending) {
    const wire = wireName(name);
    texts.set(wire, [...(texts.get(wire) ?? []), text]);
  }
  return texts;
}

function isBad(query: Query | BadQuery): query is BadQuery {
  return 'code' in query;
}

/* The zones of this server: the names of dns-01 challenges (RFC 8555 section 8.4), and nothing else. */

/** The name of the challenge for a domain, or for the wildcard below it. */
export function challengeName(domain: string): string {
  return `_acme-challenge.${domain}`;
}

const CHALLENGE_LABEL = wireName(challengeName('x')).slice(0, -3);

/** The result of looking up a question's zone. */
export interface Found {
  /** the zone's name, as {@link wireName} returns it */
  readonly apex: string;
  /** where that begins in the name of the question; 0 if that is the zone itself */
  readonly offset: number;
}

/** The zones of a relay: one for each of its domains, each with only its own name. */
export class Zones {
  readonly #domains: ReadonlySet<string>;
  readonly #parents: readonly string[];
  readonly #isUsers: (domain: string) => boolean;

  /**
   * @param domains whose challenges are served
   * @param parents the same for every name one label below these. Account domains are such names; all of them are
   *   served, whether or not the account exists, so that the existing ones cannot be found out.
   * @param isUsers whether the wildcard of a domain, in lower case, is verified for a user
   */
  constructor(
    domains: readonly string[],
    parents: readonly string[],
    isUsers: (domain: string) => boolean = () => false,
  ) {
    this.#domains = new Set(domains.map(wireName));
    this.#parents = parents.map(wireName);
    this.#isUsers = isUsers;
  }

  /** @param name as {@link wireName} returns it */
  find(name: string): Found | undefined {
    for (let offset = 0; offset < name.length; offset += 1 + name.charCodeAt(offset)) {
      if (!name.startsWith(CHALLENGE_LABEL, offset)) continue;
      const apex = name.slice(offset);
      if (this.#serves(apex.slice(CHALLENGE_LABEL.length))) return { apex, offset };
    }
    return undefined;
  }

  #serves(domain: string): boolean {
    const isRelays =
      this.#domains.has(domain) || this.#parents.includes(domain.slice(1 + domain.charCodeAt(0)));
    return isRelays || this.#isUsers(textName(domain) ?? '');
  }
}

/* The texts that authorities look for, read from the store that all relays of a cluster share. */

/** A pending challenge. */
export interface PendingText {
  /** the name that the authority queries, with dots between labels */
  readonly name: string;
  readonly text: string;
}

/** Reads all of them: there are few, and a query for each name would let strangers load the store. */
export type LoadTexts = () => Promise<readonly PendingText[]>;

/** Regardless of the number of queries, they are read once per {@link DNS_TEXTS_MS}. */
export class PendingTexts {
  readonly #load: LoadTexts;
  readonly #clock: Clock;
  #texts: Promise<ChallengeTexts | undefined> | undefined;
  #readAt = 0;

  constructor(load: LoadTexts, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  /** @returns `undefined` if they cannot be read at present. Never rejects. */
  current(): Promise<ChallengeTexts | undefined> {
    const now = this.#clock.monotonic();
    if (this.#texts === undefined || now - this.#readAt >= DNS_TEXTS_MS) {
      this.#readAt = now;
      // The store itself reports the failure.
      this.#texts = this.#load().then(challengeTexts, () => undefined);
    }
    return this.#texts;
  }
}

/* Proves domains by records in the DNS (RFC 8555 section 8.4). */

/** ms that relays and resolvers may cache that there is no challenge, and some more. */
const DNS_SETTLE_MS = 2000;

/**
 * @param solver stores challenges where all relays find them
 * @returns the same, but waits until every relay has read them, and resolvers have forgotten their absence
 */
export function dnsSolver(solver: ChallengeSolver, clock: Clock): ChallengeSolver {
  return {
    ...solver,
    async present(challenge) {
      await solver.present(challenge);
      await new Promise<void>((resolve) => {
        clock.setTimeout(resolve, DNS_SETTLE_MS);
      });
    },
  };
}

/** The text that an authority looks for. */
export function textOf({ host, keyAuthorization }: ChallengeRecord): PendingText {
  const text = createHash('sha256').update(keyAuthorization).digest('base64url');
  return { name: challengeName(host), text };
}

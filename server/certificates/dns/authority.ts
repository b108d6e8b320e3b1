/** What the relay says to a query: a function of the query and of what an authority waits to see. */
import { ResponseCode as Code, CLASS_IN, FIRST_META_TYPE, RecordType } from './constants.ts';
import { type BadQuery, type Query, readQuery } from './query.ts';
import { authorityRecord, type DnsRecord, NO_ANY, nameServerRecord, textRecord } from './records.ts';
import { type Content, type Transport, writeRefusal, writeResponse } from './response.ts';
import { wireName } from './wire-name.ts';
import type { Found, Zones } from './zones.ts';

/** Texts of challenges, by the name they are asked for at, as {@link wireName} gives it. */
export type ChallengeTexts = ReadonlyMap<string, readonly string[]>;

export interface AuthorityOptions {
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

  /** @throws RangeError when `nameServer` is no domain name */
  constructor({ zones, nameServer, mark }: AuthorityOptions) {
    this.#zones = zones;
    this.#soa = authorityRecord(nameServer, mark);
    this.#nameServer = nameServerRecord(nameServer);
  }

  /** @returns what was asked, a response that needs no texts, or `undefined` for what gets none */
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

  /** @param texts `undefined` when they cannot be read at present */
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
    // Below a zone there is nothing.
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

/** A query that the relay is the authority for. */
export interface Question {
  readonly query: Query;
  readonly found: Found;
}

/** Challenges as their texts are looked up. */
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

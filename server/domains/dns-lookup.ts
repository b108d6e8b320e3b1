/**
 * DNS lookups, one record type at a time, with limits on what servers may send. Nothing ever connects to an address
 * from an answer.
 */
import { Resolver } from 'node:dns/promises';
import { DNS_ANSWER_MS, DNS_TRIES, DNS_TRY_MS } from '../limits.ts';

export type RecordType = 'A' | 'AAAA' | 'CNAME' | 'TXT';

export type DnsAnswer =
  | { readonly kind: 'found'; readonly values: readonly string[] }
  /** there is no such record; `exists`: but there are others with that name */
  | { readonly kind: 'none'; readonly exists: boolean }
  /** unknown; `text` says why, as part of a sentence */
  | { readonly kind: 'failed'; readonly text: string };

/** Looks up the records of a name. Never rejects. */
export type DnsLookup = (name: string, type: RecordType) => Promise<DnsAnswer>;

const PAUSED: DnsAnswer = { kind: 'failed', text: 'this relay is being replaced; try again' };

const FAILURES: Readonly<Record<string, string>> = {
  ESERVFAIL: 'the DNS server of the domain failed (SERVFAIL)',
  EREFUSED: 'the DNS server refused to answer (REFUSED)',
  ETIMEOUT: 'no DNS server answered in time',
  ECANCELLED: 'no DNS server answered in time',
  ECONNREFUSED: 'no DNS server could be reached',
  EFORMERR: 'the DNS server did not understand the question (FORMERR)',
  ENOTIMP: 'the DNS server cannot answer that question (NOTIMP)',
  EBADRESP: 'the answer of the DNS server was malformed',
};

interface AnswerLimits {
  readonly tryMs: number;
  readonly answerMs: number;
}

/** Performs DNS lookups, unless paused. */
export class Dns {
  readonly #server: string | undefined;
  readonly #limits: AnswerLimits;
  readonly #asking = new Set<Resolver>();
  #isPaused = false;

  /**
   * @param server `ADDRESS:PORT`, IPv6 in brackets; `undefined` for the system's
   * @param limits ms for an attempt, and for a lookup in all
   */
  constructor(
    server: string | undefined,
    limits: AnswerLimits = { tryMs: DNS_TRY_MS, answerMs: DNS_ANSWER_MS },
  ) {
    this.#server = server;
    this.#limits = limits;
  }

  readonly lookup: DnsLookup = async (name, type) => {
    if (this.#isPaused) return PAUSED;
    // One for each lookup, so that cancelling one does not affect others.
    const resolver = new Resolver({ timeout: this.#limits.tryMs, tries: DNS_TRIES });
    if (this.#server !== undefined) resolver.setServers([this.#server]);
    this.#asking.add(resolver);
    const timer = setTimeout(() => resolver.cancel(), this.#limits.answerMs);
    try {
      const values = await ask(resolver, name, type);
      return values.length === 0 ? { kind: 'none', exists: true } : { kind: 'found', values };
    } catch (error) {
      return this.#isPaused ? PAUSED : answerOf(error);
    } finally {
      clearTimeout(timer);
      this.#asking.delete(resolver);
    }
  };

  /** Cancels all lookups, and starts no more until {@link resume}. */
  pause(): void {
    this.#isPaused = true;
    for (const resolver of this.#asking) resolver.cancel();
  }

  /** Undoes {@link pause}. */
  resume(): void {
    this.#isPaused = false;
  }
}

async function ask(resolver: Resolver, name: string, type: RecordType): Promise<readonly string[]> {
  switch (type) {
    case 'A':
      return await resolver.resolve4(name);
    case 'AAAA':
      return await resolver.resolve6(name);
    case 'CNAME':
      return (await resolver.resolveCname(name)).map((target) => target.toLowerCase());
    case 'TXT':
      // A long text is split into pieces (RFC 7208 section 3.3).
      return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''));
  }
}

function answerOf(error: unknown): DnsAnswer {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOTFOUND') return { kind: 'none', exists: false };
  if (code === 'ENODATA') return { kind: 'none', exists: true };
  return { kind: 'failed', text: FAILURES[code] ?? `the DNS could not be asked (${code || String(error)})` };
}

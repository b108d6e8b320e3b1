/** Checks a domain in the DNS: whether its records are correct, and what was found instead. */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type DomainCheck, PROOF_LABEL } from '../../shared/domains.ts';
import { baseOfWildcard } from '../../shared/wildcard-hosts.ts';
import { replaceUnprintable } from '../../shared/unprintable.ts';
import type { DomainRecord } from '../store/records.ts';

/** How long a DNS server has to answer the first attempt. */
const DNS_TRY_MS = 2000;
/** Maximum number of attempts per DNS query. */
const DNS_TRIES = 2;
/** How long a DNS lookup may take in total, however many referrals it follows. */
export const DNS_ANSWER_MS = 8000;
/** Maximum number of DNS values that a domain check shows to the domain's owner; the DNS may have any number. */
export const DNS_SHOWN_MAX = 4;
/** Length to which a domain check truncates each DNS value that it shows. */
export const DNS_SHOWN_LENGTH = 100;

/** The result for one of the two records that are checked. */
export interface Finding extends DomainCheck {
  /** whether the DNS has confirmed it: a server that fails confirms nothing */
  readonly certain: boolean;
}

export interface DomainLook {
  readonly proof: Finding;
  readonly address: Finding;
  /** all values of the TXT record; `undefined` if unknown */
  readonly proofs: readonly string[] | undefined;
}

/** Whether a domain is set up correctly; `undefined` if unknown. */
export function verdictOf({ proof, address }: DomainLook): boolean | undefined {
  if (proof.ok && address.ok) return true;
  const isWrong = [proof, address].some((finding) => !finding.ok && finding.certain);
  return isWrong ? false : undefined;
}

/**
 * @param host the relay's own name or address, IPv6 without brackets
 * @returns never rejects
 */
export async function lookAt(
  claim: Pick<DomainRecord, 'domain' | 'proof'>,
  host: string,
  lookup: DnsLookup,
): Promise<DomainLook> {
  const [txt, address] = await Promise.all([
    lookup(proofName(claim.domain), 'TXT'),
    addressFinding(claim.domain, host, lookup),
  ]);
  return { proof: proofFinding(claim, txt), address, proofs: valuesOf(txt) };
}

/** @returns all values of the TXT record of a domain; `undefined` if unknown */
export async function proofsOf(domain: string, lookup: DnsLookup): Promise<readonly string[] | undefined> {
  return valuesOf(await lookup(proofName(domain), 'TXT'));
}

/** @returns the addresses of a host; empty if unknown */
export async function addressesOf(host: string, lookup: DnsLookup): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  const answers = await Promise.all([lookup(host, 'A'), lookup(host, 'AAAA')]);
  return answers.flatMap((answer) => [...(valuesOf(answer) ?? [])]);
}

function proofFinding({ domain, proof }: Pick<DomainRecord, 'domain' | 'proof'>, txt: DnsAnswer): Finding {
  const name = proofName(domain);
  if (txt.kind === 'failed')
    return unknown('proof', `The TXT record ${name} could not be read: ${txt.text}.`);
  if (txt.kind === 'none') return wrong('proof', `There is no TXT record ${name}.`);
  if (txt.values.includes(proofText(proof))) return right('proof');
  return wrong('proof', `The TXT record ${name} has a different value.`, txt.values);
}

async function addressFinding(domain: string, host: string, lookup: DnsLookup): Promise<Finding> {
  const [cname, v4, v6, own] = await Promise.all([
    lookup(domain, 'CNAME'),
    lookup(domain, 'A'),
    lookup(domain, 'AAAA'),
    addressesOf(host, lookup),
  ]);
  if (valuesOf(cname)?.includes(host) === true) return right('address');
  const found = [v4, v6].flatMap((answer) => [...(valuesOf(answer) ?? [])]);
  const others = found.filter((address) => !own.includes(address));
  if (found.length > 0 && others.length === 0) return right('address');
  const failed = [cname, v4, v6].find((answer) => answer.kind === 'failed');
  if (failed !== undefined)
    return unknown('address', `The address of ${domain} could not be looked up: ${failed.text}.`);
  if (found.length === 0) {
    const alias = valuesOf(cname) ?? [];
    return alias.length === 0
      ? wrong('address', `No record points ${domain} to this relay.`)
      : wrong('address', `${domain} is an alias for a name that has no address.`, alias);
  }
  const some = others.length < found.length;
  return wrong(
    'address',
    some ? `${domain} also points to other machines.` : `${domain} does not point to this relay.`,
    others,
  );
}

/** `undefined` if unknown. */
function valuesOf(answer: DnsAnswer): readonly string[] | undefined {
  if (answer.kind === 'failed') return undefined;
  return answer.kind === 'found' ? answer.values : [];
}

function right(what: DomainCheck['what']): Finding {
  return { what, ok: true, found: [], problem: '', certain: true };
}

function wrong(what: DomainCheck['what'], problem: string, found: readonly string[] = []): Finding {
  return { what, ok: false, found: shown(found), problem, certain: true };
}

function unknown(what: DomainCheck['what'], problem: string): Finding {
  return { what, ok: false, found: [], problem, certain: false };
}

/** A few of the values, each shortened to a readable length, without characters that a terminal would obey. */
function shown(values: readonly string[]): string[] {
  return values.slice(0, DNS_SHOWN_MAX).map((value) => {
    const printable = replaceUnprintable(value, '?');
    return printable.length > DNS_SHOWN_LENGTH ? `${printable.slice(0, DNS_SHOWN_LENGTH)}…` : printable;
  });
}

/* The TXT record that proves who owns a domain (protocol.md section 12.2). */

const PREFIX = 'culvert-verify=';

/** Its name. */
export function proofName(domain: string): string {
  return `${PROOF_LABEL}.${baseOfWildcard(domain)}`;
}

/** Its required value. */
export function proofText(proof: string): string {
  return PREFIX + proof;
}

/*
 * DNS lookups, one record type at a time, with limits on what servers may send. Nothing ever connects to an address
 * from an answer.
 */

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
  ESERVFAIL: "the domain's DNS server failed (SERVFAIL)",
  EREFUSED: 'the DNS server refused to answer (REFUSED)',
  ETIMEOUT: 'no DNS server responded in time',
  ECANCELLED: 'no DNS server responded in time',
  ECONNREFUSED: 'no DNS server could be reached',
  EFORMERR: 'the DNS server did not understand the query (FORMERR)',
  ENOTIMP: 'the DNS server does not support the query (NOTIMP)',
  EBADRESP: "the DNS server's response was malformed",
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
  return { kind: 'failed', text: FAILURES[code] ?? `the DNS query failed (${code || String(error)})` };
}

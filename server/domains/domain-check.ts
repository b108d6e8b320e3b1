/** Checks a domain in the DNS: whether its records are correct, and what was found instead. */
import { isIP } from 'node:net';
import { type DomainCheck, PROOF_LABEL } from '../../shared/domains.ts';
import { replaceUnprintable } from '../../shared/unprintable.ts';
import { DNS_SHOWN_LENGTH, DNS_SHOWN_MAX } from '../limits.ts';
import type { DomainRecord } from '../store/records.ts';
import type { DnsAnswer, DnsLookup } from './dns-lookup.ts';

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
  return wrong('proof', `The TXT record ${name} says something else.`, txt.values);
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
    return unknown('address', `Where ${domain} leads could not be found out: ${failed.text}.`);
  if (found.length === 0) {
    const alias = valuesOf(cname) ?? [];
    return alias.length === 0
      ? wrong('address', `There is no record that leads ${domain} to this relay.`)
      : wrong('address', `${domain} is an alias of a name that leads nowhere.`, alias);
  }
  const some = others.length < found.length;
  return wrong(
    'address',
    `${domain} leads ${some ? 'to other addresses, too' : 'somewhere else'}: not to this relay.`,
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

/* The TXT record that proves who owns a domain (docs/protocol.md section 12.2). */

const PREFIX = 'culvert-verify=';

/** Its name. */
export function proofName(domain: string): string {
  return `${PROOF_LABEL}.${domain}`;
}

/** Its required value. */
export function proofText(proof: string): string {
  return PREFIX + proof;
}

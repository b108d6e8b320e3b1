/** `culvert domain`: domains of the account, and what has to be entered in their DNS. */
import { type CheckedDomain, type DnsRecord, type Domain, readDomain } from '../../shared/domains.ts';
import { ExitCode, UsageError } from '../client/failures.ts';
import { apiOf, type CommandLine, defineCommand } from './command.ts';
import { jsonLine, localTime, table } from './format.ts';
import { COMMON } from './options.ts';

export const domainCommand = defineCommand({
  name: 'domain',
  operands: 'list | add|verify|remove DOMAIN',
  words: ['list', 'add', 'verify', 'remove'],
  summary: 'Manage your own domains',
  options: COMMON,
  examples: {
    'culvert domain add app.example.com': 'show the two DNS records that you need to create',
    'culvert domain verify app.example.com': 'check the DNS records',
    'culvert http 3000 --domain app.example.com': 'open a tunnel with the domain',
    'culvert domain list': 'list your domains',
    'culvert domain remove app.example.com': 'remove the domain and close its tunnel',
  },
  details: `
    "add" prints two DNS records: one points the domain to the relay, and the other proves that you own the domain.
    Create both at your DNS provider, then run "verify". Until both records are correct, "verify" shows what is
    missing and exits with code 1.

    The relay checks the records once a day. If they remain incorrect for 7 days, it releases the domain.`,
  read: (line) => ({ action: readDomainAction(line), ...line.access() }),
  /** @returns 1 for a domain that is not verified afterwards, or whose records are wrong */
  async run(command, { output }) {
    const { json, action } = command;
    const api = apiOf(command);
    if (action.name === 'list') {
      const domains = await api.listDomains();
      output.out(json ? jsonLine({ domains }) : listText(domains));
      return ExitCode.ok;
    }
    if (action.name === 'add') {
      const domain = await api.addDomain(action.domain);
      output.out(json ? jsonLine(domain) : addedText(domain));
      return ExitCode.ok;
    }
    const { id, domain } = findDomain(await api.listDomains(), action.domain);
    if (action.name === 'remove') {
      await api.removeDomain(id);
      output.out(json ? '{"status":"removed"}\n' : `Removed ${domain}.\n`);
      return ExitCode.ok;
    }
    const checked = await api.verifyDomain(id);
    output.out(json ? jsonLine(checked) : checkedText(checked));
    return checked.checks.every(({ ok }) => ok) ? ExitCode.ok : ExitCode.failed;
  },
});

/** @throws UsageError */
function readDomainAction(line: CommandLine) {
  line.atMost(2);
  const [name = 'list', domain = ''] = line.operands;
  if (name === 'list') {
    line.atMost(1);
    return { name } as const;
  }
  if (name !== 'add' && name !== 'verify' && name !== 'remove')
    throw new UsageError(`Unknown command "domain ${name}". Use list, add, verify or remove.`);
  if (domain === '') throw new UsageError('Specify a domain, such as app.example.com.');
  const reading = readDomain(domain);
  if (name === 'add' && 'problem' in reading)
    throw new UsageError(`"${domain}": the domain ${reading.problem}.`);
  return { name, domain } as const;
}

/** Thrown for a domain that the account has not added. */
export class NoSuchDomain extends Error {
  constructor(name: string) {
    super(`You have not added the domain "${name}". "culvert domain list" shows your domains`);
  }
}

/** @throws NoSuchDomain */
function findDomain(domains: readonly Domain[], name: string): Domain {
  const reading = readDomain(name);
  const wanted = 'name' in reading ? reading.name : name;
  const found = domains.find(({ id, domain }) => id === name || domain === wanted);
  if (found === undefined) throw new NoSuchDomain(name);
  return found;
}

function listText(domains: readonly Domain[]): string {
  if (domains.length === 0) return 'No domains. "culvert domain add app.example.com" adds one.\n';
  const rows = domains.map((one) => [
    one.domain,
    domainStatus(one),
    one.ends_at === null ? '' : localTime(one.ends_at),
    one.id,
  ]);
  return table([['DOMAIN', 'STATUS', 'EXPIRES', 'ID'], ...rows]);
}

/** `pending`, `verified`, or `failing` for one whose records are no longer right. */
export function domainStatus({ status, failing_since }: Domain): string {
  return failing_since === null ? status : 'failing';
}

function addedText({ domain, status, records }: Domain): string {
  if (status === 'verified') return useText(domain);
  return (
    `Create these records at the DNS provider for ${domain}:\n\n${recordTable(records)}\n` +
    `Then run "culvert domain verify ${quoted(domain)}". It can take a few minutes for the records to become visible everywhere.\n`
  );
}

function useText(domain: string): string {
  return `${domain} is verified. To use it, run "culvert http PORT --domain ${quoted(domain)}".\n`;
}

/** A shell would replace the `*` with names of files. */
function quoted(domain: string): string {
  return domain.includes('*') ? `'${domain}'` : domain;
}

function recordTable(records: readonly DnsRecord[]): string {
  return table([['TYPE', 'NAME', 'VALUE'], ...records.map(({ type, name, value }) => [type, name, value])]);
}

function checkedText({ domain, status, records, checks, ends_at }: CheckedDomain): string {
  const problems = checks.filter(({ ok }) => !ok);
  if (problems.length === 0) return useText(domain);
  const found = problems.map(
    ({ problem, found: values }) => `${problem}\n${values.map((value) => `  found: ${value}\n`).join('')}`,
  );
  const until = ends_at === null ? '' : ` until ${localTime(ends_at)}`;
  const state =
    status === 'verified' ? `still yours${until}, but its DNS records are wrong` : 'not verified yet';
  return `${domain} is ${state}.\n\n${found.join('')}\nIt needs these DNS records:\n\n${recordTable(records)}`;
}

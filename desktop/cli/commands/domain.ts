/** `culvert domain`: domains of the account, and what has to be entered in their DNS. */
import { type CheckedDomain, type DnsRecord, type Domain, readDomain } from '../../../shared/domains.ts';
import { ExitCode, UsageError } from '../../client/failures.ts';
import { apiOf, defineCommand, type Group } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { jsonLine, localTime, table } from '../output/format.ts';

const DOMAIN = { shown: 'DOMAIN', missing: 'Specify a domain, such as app.example.com.' } as const;

const listCommand = defineCommand({
  name: 'domain list',
  summary: 'List your domains',
  options: COMMON,
  examples: { 'culvert domain list': 'list your domains' },
  read: (line) => line.access(),
  async run(command, { output }) {
    const domains = await apiOf(command).listDomains();
    output.out(command.json ? jsonLine({ domains }) : listText(domains));
  },
});

const addCommand = defineCommand({
  name: 'domain add',
  operands: { domain: DOMAIN },
  summary: 'Add a domain, and print the DNS records that it needs',
  options: COMMON,
  examples: { 'culvert domain add app.example.com': 'show the two DNS records that you need to create' },
  details: `
    One record points the domain to the relay, and the other proves that you own the domain. Create both at your DNS
    provider, then run "culvert domain verify".`,
  read(line) {
    const { domain } = line.operands;
    const reading = readDomain(domain);
    if ('problem' in reading) throw new UsageError(`"${domain}": the domain ${reading.problem.text}.`);
    return { domain, ...line.access() };
  },
  async run(command, { output }) {
    const domain = await apiOf(command).addDomain(command.domain);
    output.out(command.json ? jsonLine(domain) : addedText(domain));
  },
});

const verifyCommand = defineCommand({
  name: 'domain verify',
  operands: { domain: DOMAIN },
  summary: 'Check the DNS records of a domain',
  options: COMMON,
  examples: {
    'culvert domain verify app.example.com': 'check the DNS records',
    'culvert http 3000 --domain app.example.com': 'open a tunnel with the domain',
  },
  details: `
    Until both records are correct, the command shows what is missing and exits with code 1.`,
  read: (line) => ({ ...line.operands, ...line.access() }),
  /** @returns 1 for a domain that is not verified afterwards, or whose records are wrong */
  async run(command, { output }) {
    const api = apiOf(command);
    const { id } = findDomain(await api.listDomains(), command.domain);
    const checked = await api.verifyDomain(id);
    output.out(command.json ? jsonLine(checked) : checkedText(checked));
    return checked.checks.every(({ ok }) => ok) ? ExitCode.ok : ExitCode.failed;
  },
});

const removeCommand = defineCommand({
  name: 'domain remove',
  operands: { domain: DOMAIN },
  summary: 'Remove a domain and close its tunnel',
  options: COMMON,
  examples: { 'culvert domain remove app.example.com': 'remove the domain and close its tunnel' },
  read: (line) => ({ ...line.operands, ...line.access() }),
  async run(command, { output }) {
    const api = apiOf(command);
    const { id, domain } = findDomain(await api.listDomains(), command.domain);
    await api.removeDomain(id);
    output.out(command.json ? '{"status":"removed"}\n' : `Removed ${domain}.\n`);
  },
});

export const domainCommands = {
  name: 'domain',
  summary: 'Manage your own domains',
  details: `
    The relay checks the DNS records of a domain once a day. If they remain incorrect for 7 days, it releases the domain.`,
  fallback: 'list',
  commands: [listCommand, addCommand, verifyCommand, removeCommand],
} as const satisfies Group;

/** Thrown for a domain that the account has not added. */
class NoSuchDomain extends Error {
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

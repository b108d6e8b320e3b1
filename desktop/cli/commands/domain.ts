/** `culvert status`, `domain` and `team`: the account. */
import { type CheckedDomain, type DnsRecord, type Domain, readDomain } from '../../../shared/domains.ts';
import type { NewTeamInvites, Team, TeamAudit } from '../../../shared/team.ts';
import type { Account } from '../../../shared/tunnel.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import { ExitCode, UsageError } from '../../client/failures.ts';
import { byteSize } from '../../client/inspector/readable.ts';
import type { ApiClient } from '../../client/relay/api-client.ts';
import { DomainUnsupported, RelayRefusal } from '../../client/relay/errors.ts';
import { accessText } from '../command-line/access-options.ts';
import { apiOf, type CommandLine, defineCommand, printOnce } from '../command-line/command.ts';
import { jsonLine, lifetimeText, localTime, table, timeLeft } from '../output/format.ts';
import { COMMON } from '../command-line/options.ts';
import type { Output } from '../output/reporter.ts';

export const statusCommand = defineCommand({
  name: 'status',
  operands: '',
  summary: 'Show your account, its limits, domains and tunnels',
  options: COMMON,
  examples: { 'culvert status': 'show the account that your API key belongs to' },
  read: (line) => line.accessAlone(),
  run: (given, { output }) => runStatus(given, output),
});

async function runStatus(command: RelayAccess, output: Output): Promise<void> {
  const api = apiOf(command);
  const [account, tunnels, domains] = await Promise.all([
    api.getAccount(),
    api.listTunnels(),
    domainsOf(api),
  ]);
  if (command.json) {
    output.out(jsonLine({ relay: command.relay.origin, account, tunnels, domains }));
    return;
  }
  output.out(accountLines(command, account, tunnels.length, domains));
  if (tunnels.length === 0) return;
  const rows = tunnels.map((tunnel) => [
    tunnel.slug,
    tunnel.online ? 'online' : 'offline',
    String(tunnel.local_port),
    timeLeft(Date.parse(tunnel.expires_at) - api.now()) + (tunnel.idle_ttl ? ' idle' : ''),
    String(tunnel.requests),
    byteSize(tunnel.bytes_in),
    byteSize(tunnel.bytes_out),
    accessText(tunnel.access),
    tunnel.public_url,
  ]);
  output.out(
    `\n${table([['TUNNEL', 'STATE', 'PORT', 'TIME LEFT', 'REQUESTS', 'IN', 'OUT', 'ACCESS', 'ADDRESS'], ...rows])}`,
  );
}

/** Empty if the relay does not support domains, or the key is scoped to one tunnel. */
async function domainsOf(api: ApiClient): Promise<readonly Domain[]> {
  try {
    return await api.listDomains();
  } catch (error) {
    const isForbidden = error instanceof RelayRefusal && error.status === 403;
    if (isForbidden || error instanceof DomainUnsupported) return [];
    throw error;
  }
}

function domainText(one: Domain): string {
  return `${one.domain} (${domainStatus(one)})`;
}

function accountLines(
  { relay }: RelayAccess,
  { name, plan, subdomain, limits, agent_key }: Account,
  live: number,
  domains: readonly Domain[],
): string {
  const { default_ttl, max_ttl, creates_per_minute, create_burst, max_tunnels, max_connections } = limits;
  return table([
    ['Relay', relay.origin],
    ['Account', `${name} (${plan} plan)${subdomain === null ? '' : `, subdomain ${subdomain}`}`],
    ...(agent_key === null
      ? []
      : [
          ['Key', `an agent's: names begin with ${agent_key.name_prefix}, and tunnels need an access policy`],
        ]),
    ['Tunnels', `${live} live, ${max_tunnels === null ? 'no limit' : `at most ${max_tunnels}`}`],
    ['Time to live', `${lifetimeText(default_ttl)} by default, at most ${lifetimeText(max_ttl)}`],
    ['Creates', `${creates_per_minute} per minute, with bursts of up to ${create_burst}`],
    ['Connections', max_connections === null ? 'no limit' : `at most ${max_connections} per tunnel`],
    ...(domains.length === 0 ? [] : [['Domains', domains.map(domainText).join(', ')]]),
  ]);
}

/* `culvert domain`: domains of the account, and what has to be entered in their DNS. */

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
function domainStatus({ status, failing_since }: Domain): string {
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

/* `culvert team`: the people of an account, for its owners. */

export const teamCommand = defineCommand({
  name: 'team',
  operands: 'list | invite LABEL... | revoke ID|LABEL | audit',
  words: ['list', 'invite', 'revoke', 'audit'],
  summary: 'Manage the people of your account',
  options: { Invitations: ['ttl'], ...COMMON },
  meanings: { ttl: 'How long invitations are valid, such as 24h or 72h. Default: 24h.' },
  examples: {
    'culvert team list': 'show the keys and open invitations of the account',
    'culvert team invite ann bob --ttl 72h': 'create an invitation for each and print its address',
    'culvert team revoke ann':
      "revoke ann's key or invitation, and close the connections opened with the key",
    'culvert team audit': "show who closed, extended or changed somebody else's tunnel, and who joined",
  },
  details: `
    These commands need an owner's key, which the operator of the relay creates with "culvert-relay key create --owner".
    An invitation gives one person a key with full access to the account's tunnels. Only an owner can invite or revoke
    people. "culvert list" shows whose tunnel is whose.`,
  read: (line) => ({ action: readTeamAction(line), ttl: line.ttl(), ...line.access() }),
  async run(command, { output }) {
    const { json, action, ttl } = command;
    const api = apiOf(command);
    switch (action.name) {
      case 'list': {
        const team = await api.listTeam();
        output.out(json ? jsonLine(team) : teamText(team));
        return ExitCode.ok;
      }
      case 'invite': {
        const made = await api.inviteToTeam(action.labels, ttl);
        await printOnce(output, json ? jsonLine(made) : invitesText(made), async () => {
          for (const { id } of made.invites) await api.revokeFromTeam(id);
        });
        return ExitCode.ok;
      }
      case 'revoke': {
        const { id, label } = findMember(await api.listTeam(), action.who);
        await api.revokeFromTeam(id);
        output.out(json ? jsonLine({ id, label, status: 'revoked' }) : `Revoked "${label}".\n`);
        return ExitCode.ok;
      }
      case 'audit': {
        const audit = await api.teamAudit();
        output.out(json ? jsonLine(audit) : auditText(audit));
        return ExitCode.ok;
      }
    }
  },
});

/** @throws UsageError */
function readTeamAction(line: CommandLine) {
  const [name = 'list', ...labels] = line.operands;
  if (name === 'invite') {
    if (labels.length === 0)
      throw new UsageError(
        'Specify whom to invite, such as "culvert team invite ann". The name becomes the label of the key.',
      );
    return { name, labels } as const;
  }
  if (line.values.ttl !== undefined)
    throw new UsageError('--ttl can only be used with "culvert team invite".');
  if (name === 'revoke') {
    line.atMost(2);
    const [who = ''] = labels;
    if (who === '') throw new UsageError('Specify a label or an id, as shown by "culvert team list".');
    return { name, who } as const;
  }
  if (name !== 'list' && name !== 'audit')
    throw new UsageError(`Unknown command "team ${name}". Use list, invite, revoke or audit.`);
  line.atMost(1);
  return { name } as const;
}

/** Thrown for somebody who is not in the account, or a label that several keys have. */
class NoSuchMember extends Error {}

/** @throws NoSuchMember */
function findMember({ keys, invites }: Team, who: string): { readonly id: string; readonly label: string } {
  const all = [...keys, ...invites];
  const byId = all.find(({ id }) => id === who);
  const byLabel = all.filter(({ label }) => label === who);
  const [found = byId] = byId === undefined ? byLabel : [];
  if (found === undefined)
    throw new NoSuchMember(
      `No key or invitation has the id or label "${who}". "culvert team list" shows them`,
    );
  if (byId === undefined && byLabel.length > 1)
    throw new NoSuchMember(
      `${byLabel.length} keys and invitations have the label "${who}". Use an id from "culvert team list" instead`,
    );
  return found;
}

function teamText({ keys, invites }: Team): string {
  const rows = [
    ...keys.map(({ label, scope, last_used_at: used, id }) => [
      label === '' ? '-' : label,
      scope === 'all' ? 'member' : scope,
      used === null ? 'never' : localTime(used),
      id,
    ]),
    ...invites.map(({ label, expires_at: end, id }) => [
      label === '' ? '-' : label,
      'invited',
      `until ${localTime(end)}`,
      id,
    ]),
  ];
  return table([['LABEL', 'ROLE', 'LAST USED', 'ID'], ...rows]);
}

function invitesText({ invites }: NewTeamInvites): string {
  return invites.map(({ label, url }) => `${label}\t${url}\n`).join('');
}

function auditText({ acts }: TeamAudit): string {
  if (acts.length === 0) return 'Nothing has been recorded yet.\n';
  const rows = acts.map(({ at, action, subject, detail }) => [localTime(at), action, subject, detail]);
  return table([['TIME', 'ACTION', 'SUBJECT', 'DETAIL'], ...rows]);
}

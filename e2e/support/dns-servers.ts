/** A resolver, Debian's package `unbound`, that serves one local zone and follows the delegations in it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DnsServer } from '../../server/testing/dns-server.ts';
import type { CheckedDomain, Domain } from '../../shared/domains.ts';
import type { TestAccount } from './accounts.ts';
import { Child } from './child.ts';
import { eventually } from './deadline.ts';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

const PROGRAM = '/usr/sbin/unbound';

export class Unbound {
  readonly port: number;
  readonly #folder: string;
  #child: Child;

  private constructor(port: number, folder: string, child: Child) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  /** @param records of the zone `test`, one per line, with names relative to it: `relay A 127.0.0.2` */
  static async start(scope: Scope, records: readonly string[]): Promise<Unbound> {
    const port = await closedPort();
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'unbound.conf'), configuration(folder, port));
    writeZone(folder, records);
    const unbound = new Unbound(port, folder, run(folder));
    scope.defer(() => unbound.#child.stop('SIGKILL'));
    await unbound.#answers();
    return unbound;
  }

  /** Its address in the form of a setting. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Restarts it with other records and an empty cache. */
  async change(records: readonly string[]): Promise<void> {
    await this.#child.stop('SIGKILL');
    writeZone(this.#folder, records);
    this.#child = run(this.#folder);
    await this.#answers();
  }

  async #answers(): Promise<void> {
    await eventually(30_000, async () => {
      const { answer } = await dig(this.port, '127.0.0.1', ['ns.test', 'A']);
      assert.equal(answer.length, 1);
    });
  }
}

/** A loopback address that nobody else uses, with all of its ports: delegations cannot name a port other than 53. */
export function ownAddress(): string {
  return `127.${randomInt(64, 255)}.${randomInt(1, 255)}.${randomInt(2, 255)}`;
}

function run(folder: string): Child {
  return new Child(PROGRAM, ['-d', '-p', '-c', join(folder, 'unbound.conf')]);
}

function writeZone(folder: string, records: readonly string[]): void {
  const head = [
    '$ORIGIN test.',
    '$TTL 1',
    '@ SOA ns hostmaster 1 3600 600 86400 1',
    '@ NS ns',
    'ns A 127.0.0.1',
  ];
  writeFileSync(join(folder, 'test.zone'), `${[...head, ...records].join('\n')}\n`);
}

/** Like large resolvers, it mixes upper and lower case at random and asks only for as much of a name as it needs. */
function configuration(folder: string, port: number): string {
  return `server:
  directory: "${folder}"
  chroot: ""
  username: ""
  pidfile: ""
  interface: 127.0.0.1
  port: ${port}
  do-ip6: no
  num-threads: 1
  use-syslog: no
  access-control: 127.0.0.0/8 allow
  do-not-query-localhost: no
  module-config: "iterator"
  use-caps-for-id: yes
  qname-minimisation: yes
  local-zone: "test." nodefault
remote-control:
  control-enable: no
auth-zone:
  name: "test."
  zonefile: "${join(folder, 'test.zone')}"
  for-downstream: no
  for-upstream: yes
`;
}

export type Dug = Awaited<ReturnType<typeof dig>>;

/**
 * @param question arguments of `dig`: a name, a type, options
 * @throws Error when there is no response, or `dig` rejects it
 */
export async function dig(port: number, server: string, question: readonly string[]) {
  const args = ['-p', String(port), `@${server}`, '+tries=1', '+time=5', '+nocmd', ...question];
  const { stdout } = await promisify(execFile)('dig', args, { timeout: 30_000 });
  const status = /status: (\w+)/.exec(stdout)?.[1];
  if (status === undefined || stdout.includes(';; Warning') || stdout.includes('malformed'))
    throw new Error(stdout);
  return {
    /** `NOERROR`, `NXDOMAIN`, … */
    status,
    /** `qr`, `aa`, `tc`, `rd`, `ra` */
    flags: (/flags: ([\w ]*);/.exec(stdout)?.[1] ?? '').split(' '),
    // Lines, with blanks collapsed to one space.
    answer: section(stdout, 'ANSWER'),
    authority: section(stdout, 'AUTHORITY'),
    /** bytes of the response */
    size: Number(/MSG SIZE +rcvd: (\d+)/.exec(stdout)?.[1]),
    /** the whole output */
    text: stdout,
  };
}

function section(text: string, name: string): string[] {
  const [, lines = ''] = new RegExp(`;; ${name} SECTION:\\n((?:[^;\\n].*\\n)*)`).exec(text) ?? [];
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replaceAll(/\s+/g, ' '));
}

/* Custom domains of accounts, with their records in the test's DNS server. */

/** Claims a domain. */
export async function claimDomain({ api }: TestAccount, domain: string): Promise<Domain> {
  const { status, json } = await api.send('POST', '/v1/domains', { json: { domain } });
  assert.equal(status, 201, JSON.stringify(json));
  return json as Domain;
}

/** Asks the relay to verify a domain. */
export async function verifyDomain({ api }: TestAccount, { id }: Domain): Promise<CheckedDomain> {
  const { status, json } = await api.send('POST', `/v1/domains/${id}/verify`);
  assert.equal(status, 200, JSON.stringify(json));
  return json as CheckedDomain;
}

/** Claims a domain, adds its records and verifies it. */
export async function bringDomain(account: TestAccount, dns: DnsServer, domain: string): Promise<Domain> {
  const claim = await claimDomain(account, domain);
  dns.enter(claim.records);
  const checked = await verifyDomain(account, claim);
  assert.equal(checked.status, 'verified', JSON.stringify(checked));
  return checked;
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { loadConfig } from '../config.ts';
import type { DnsAnswer } from '../domains/domain-check.ts';
import { openStore } from '../store/open-store.ts';
import { selfSigned } from '../testing/fake-authority.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount, aTunnel } from '../testing/fixtures.ts';
import { type Check, Fault, Skipped } from './check.ts';
import { clusterChecks, portChecks, storeChecks } from './machine-checks.ts';
import { addressChecks, certificateChecks, nameChecks } from './name-checks.ts';

const DAY_MS = 24 * 3_600_000;

const found = (value: string): DnsAnswer => ({ kind: 'found', values: [value] });

async function look(checks: readonly Check[], name: string): Promise<string> {
  const wanted = checks.find((check) => check.name === name);
  return (await wanted?.look()) ?? assert.fail(name);
}

/** Asserts that a check finds a fault with such a message and advice, or is skipped for such a reason. */
async function refuses(
  checked: Promise<string>,
  of: typeof Fault | typeof Skipped,
  text: RegExp,
  fix = /^/,
): Promise<void> {
  await assert.rejects(checked, (error) => {
    assert.ok(error instanceof of);
    assert.match(error.message, text);
    if (error instanceof Fault) assert.match(error.fix, fix);
    return true;
  });
}

async function ipv6(url: string, address: DnsAnswer): Promise<string> {
  const read = loadConfig({ CULVERT_PUBLIC_URL: url, CULVERT_TUNNEL_DOMAIN: 'tunnels.example.com' }, []);
  if ('problems' in read) assert.fail(read.problems.join());
  const none: DnsAnswer = { kind: 'none', exists: false };
  const checks = addressChecks(read.config, (host, type) =>
    Promise.resolve(type === 'AAAA' && host === 'relay.example.com' ? address : none),
  );
  return await look(checks, 'ipv6');
}

describe('culvert-relay doctor', () => {
  describe('checks the clock', () => {
    let other: Server;

    afterEach(() => void other.close());

    async function clockOff(ms: number): Promise<string> {
      const clock = new FakeClock();
      const date = new Date(clock.now() + ms).toUTCString();
      other = createServer((_request, response) => response.setHeader('date', date).end());
      other.listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const acme = { directory: `http://127.0.0.1:${port}/`, httpPort: 0 };
      const config = { cluster: undefined, acme } as unknown as Parameters<typeof clusterChecks>[0];
      return await look(clusterChecks(config, clock), 'clock');
    }

    it('and accepts a difference of 10 s', async () => {
      assert.equal(await clockOff(10_000), "this machine's clock is right");
    });

    it('and reports a larger one, in either direction', async () => {
      await assert.rejects(clockOff(11_000), { message: "this machine's clock is 11 s slow" });
      other.close();
      await assert.rejects(clockOff(-60_000), { message: "this machine's clock is 60 s fast" });
    });
  });

  describe('checks the last backup', () => {
    let folder: string;

    beforeEach(() => (folder = temporaryDirectory()));
    async function backupOf(days: number | undefined): Promise<string> {
      const path = join(folder, 'culvert.db');
      const clock = new FakeClock();
      if (days !== undefined) {
        const at = (clock.now() - days * DAY_MS) / 1000;
        writeFileSync(`${path}.last-backup`, '');
        utimesSync(`${path}.last-backup`, at, at);
      }
      return await look(storeChecks({ database: { kind: 'sqlite', path } }, clock), 'backup');
    }

    it('and reports one as old after 7 days', async () => {
      assert.equal(await backupOf(7), 'the last backup was made 7 days ago');
      await refuses(backupOf(8), Fault, /8 days/);
    });

    it('and skips an unknown one', async () => {
      await refuses(backupOf(undefined), Skipped, /^/);
    });
  });

  describe('checks IPv6', () => {
    let server: Server;

    beforeEach(async () => {
      server = createServer((_request, response) => response.end('{}'));
      server.listen(0, '::1');
      await once(server, 'listening');
    });
    afterEach(() => void server.close());

    it('if the DNS has IPv6 addresses', async () => {
      const { port } = server.address() as AddressInfo;
      const url = `http://relay.example.com:${port}`;
      assert.equal(await ipv6(url, found('::1')), 'the relay responds at ::1');
      await refuses(ipv6(url, { kind: 'none', exists: true }), Skipped, /^/);
      server.close();
      const silent = /^an AAAA record points to ::1, but no relay responds there: nothing is listening/;
      await refuses(ipv6(url, found('::1')), Fault, silent, /or remove the record\.$/);
    });
  });

  describe('checks the names', () => {
    const known = loadConfig(
      { CULVERT_PUBLIC_URL: 'https://relay.example.com', CULVERT_TUNNEL_DOMAIN: 'tunnels.example.com' },
      [],
    );

    async function names(name: string, answers: Readonly<Record<string, DnsAnswer>>): Promise<string> {
      if ('problems' in known) assert.fail(known.problems.join());
      const none: DnsAnswer = { kind: 'none', exists: false };
      const checks = nameChecks(known.config, (host, type) =>
        Promise.resolve(answers[`${host.replace(/^doctor-\w+/, '*')} ${type}`] ?? none),
      );
      return await look(checks, name);
    }

    it('and reports where they point', async () => {
      const answers = {
        'relay.example.com A': found('192.0.2.1'),
        '*.tunnels.example.com AAAA': found('2001:db8::1'),
      };
      assert.equal(await names('dns', answers), 'relay.example.com resolves to 192.0.2.1');
      assert.equal(
        await names('wildcard', answers),
        '*.tunnels.example.com resolves to 2001:db8::1, but relay.example.com resolves to other addresses',
      );
    });

    it('and names the missing record', async () => {
      await refuses(
        names('wildcard', {}),
        Fault,
        /^\*\.tunnels\.example\.com has no address in the DNS$/,
        /^Add an A record .* for \*\.tunnels\.example\.com/,
      );
      const silent = { 'relay.example.com A': { kind: 'failed', text: 'no DNS server answered' } as const };
      await assert.rejects(names('dns', silent), { message: 'relay.example.com: no DNS server answered' });
    });
  });

  describe('checks the ports of TCP tunnels', () => {
    const FILES: Readonly<Record<string, string>> = {
      '/proc/sys/net/ipv4/ip_local_port_range': '32768\t60999\n',
      '/proc/sys/net/ipv4/ip_local_reserved_ports': '40000-40009,50000\n',
      '/proc/net/tcp': `  sl  local_address rem_address   st tx_queue
   0: 00000000:4E20 00000000:0000 0A 00000000
   1: 0100007F:4E21 0100007F:1234 01 00000000
   2: 00000000:4E2A 00000000:0000 0A 00000000
`,
      '/proc/net/tcp6':
        '   0: 00000000000000000000000000000000:4E22 00000000000000000000000000000000:0000 0A 0\n',
    };
    const path = join(temporaryDirectory(), 'culvert.db');
    const database = { kind: 'sqlite', path } as const;

    before(async () => {
      const store = await openStore(database, 'make', () => {});
      const account = anAccount();
      await store.insertAccounts([account]);
      await store.insertTunnel(aTunnel(account.id, { protocol: 'tcp' }), {
        maxTunnels: null,
        nameHold: 0,
        tcp: { first: 20_002, last: 20_002, wanted: undefined, avoid: [], maxTunnels: 1, maxPorts: 1 },
      });
      await store.close();
    });

    const ports = (first: number, last: number): Promise<string> =>
      look(
        portChecks({ tcpPorts: { first, last }, database }, (file) =>
          Promise.resolve(FILES[file] ?? assert.fail(file)),
        ),
        'tcp-ports',
      );

    it('and names those that other programs listen on', async () => {
      const detail = '10 ports (20000-20009); in use by other programs: 20000';
      assert.equal(await ports(20_000, 20_009), detail);
    });

    it('and reports those that the system uses itself, unless they are reserved', async () => {
      assert.match(await ports(40_000, 40_009), /^10 ports/);
      await refuses(
        ports(40_009, 40_010),
        Fault,
        /^the system uses 1 port of 40009-40010 for outgoing connections as well/,
        /ip_local_reserved_ports=40009-40010$/,
      );
    });

    it('and has nothing to check without them', async () => {
      await refuses(look(portChecks({ tcpPorts: undefined, database }), 'tcp-ports'), Skipped, /^/);
    });
  });

  it('reads the certificate in the files of the settings, which a running relay may refuse', async () => {
    const folder = temporaryDirectory();
    const [cert, key] = ['cert', 'key'].map((name) => join(folder, name));
    const now = 100 * DAY_MS;
    const pair = await selfSigned('a.test', now - 2 * DAY_MS, now);
    writeFileSync(cert ?? '', pair.chain);
    writeFileSync(key ?? '', pair.key);
    const read = loadConfig({ CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key }, []);
    if ('problems' in read) assert.fail(read.problems.join());
    const check = (at: number): Promise<string> =>
      look(certificateChecks(read.config, { now: () => at }), 'certificate-files');
    assert.equal(await check(now - 1), `${cert}, valid until ${new Date(now).toISOString()}`);
    for (const [at, why] of [
      [now, /cert: it expired at /],
      [now - 3 * DAY_MS, /cert: it is not valid before /],
    ] as const)
      await refuses(check(at), Fault, why);
    writeFileSync(cert ?? '', 'no certificate');
    await refuses(check(now - 1), Fault, /CULVERT_TLS_CERT must be/);
  });
});

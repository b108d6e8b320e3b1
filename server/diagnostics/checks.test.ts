import assert from 'node:assert/strict';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  createSecureContext,
  createServer as createTlsServer,
  getCACertificates,
  type Server as TlsServer,
  setDefaultCACertificates,
} from 'node:tls';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { type Config, loadConfig } from '../config.ts';
import type { DnsAnswer } from '../domains/domain-check.ts';
import { openStore } from '../store/open-store.ts';
import { selfSigned } from '../testing/fake-authority.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aDomain, anAccount } from '../testing/fixtures.ts';
import { type Check, Fault, Skipped } from './check.ts';
import { clusterChecks, congestionControl, storeChecks } from './machine-checks.ts';
import { addressChecks, certificateChecks, nameChecks } from './name-checks.ts';

const DAY_MS = 24 * 3_600_000;

const WITH_ACME: Config['acme'] = {
  host: 'relay.example.com',
  directory: 'https://acme.example/directory',
  email: 'olga@example.com',
  ca: undefined,
  ordersPerHour: 1,
  httpPort: 80,
  dnsPort: undefined,
};

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
  describe('names the congestion control of TCP', () => {
    let folder: string;

    beforeEach(() => void (folder = temporaryDirectory()));
    async function control(name: string): Promise<string> {
      const path = join(folder, 'control');
      writeFileSync(path, `${name}\n`);
      return await congestionControl(path);
    }

    it('if the system reports it, and says how to change one that is slow on lines that lose packets', async () => {
      await assert.rejects(congestionControl(join(folder, 'none')), Skipped);
      assert.match(await control('cubic'), /^uses cubic, .*tcp_congestion_control=bbr"$/);
      assert.equal(await control('bbr'), 'uses bbr, which stays fast on lines that lose packets');
    });
  });

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

  describe('checks the certificates of wildcard domains of users', () => {
    let folder: string;
    let server: TlsServer;
    let url: string;
    /** names that were asked for */
    let asked: (string | undefined)[];
    const trusted = getCACertificates('default');

    beforeEach(async () => {
      folder = temporaryDirectory();
      asked = [];
      const { chain: cert, key } = await selfSigned('*.shop.test', Date.now() - DAY_MS, Date.now() + DAY_MS);
      setDefaultCACertificates([...trusted, cert]);
      const context = createSecureContext({ cert, key });
      server = createTlsServer({
        SNICallback(name, done) {
          asked.push(name);
          done(null, context);
        },
      });
      // A client that does not trust the certificate may break off.
      server.on('tlsClientError', () => {});
      server.on('secureConnection', (socket) => socket.on('error', () => {}));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterEach(() => {
      setDefaultCACertificates(trusted);
      server.close();
    });

    async function store(...domains: readonly string[]): Promise<void> {
      const account = anAccount();
      const opened = await openStore(database(), 'make', () => {});
      try {
        await opened.insertAccounts([account]);
        for (const domain of domains) {
          const { id } = await opened.insertDomain(aDomain(account.id, domain), null);
          await opened.verifyDomain({ id, instead: null, checkAt: 0, now: 0, nameHold: 0 });
        }
      } finally {
        await opened.close();
      }
    }

    function database() {
      return { kind: 'sqlite', path: join(folder, 'culvert.db') } as const;
    }

    async function check(changes: Partial<Config> = {}): Promise<string> {
      const read = loadConfig({ CULVERT_PUBLIC_URL: url }, []);
      if ('problems' in read) assert.fail(read.problems.join());
      const config = { ...read.config, database: database(), ...changes };
      return await look(certificateChecks(config, new FakeClock()), 'user-wildcards');
    }

    it('with a handshake for an unused host below each', async () => {
      await store('*.shop.test', 'app.shop.test');
      assert.equal(await check(), 'for *.shop.test');
      assert.equal(asked.length, 1);
      assert.match(asked[0] ?? '', /^doctor-\w+\.shop\.test$/);
    });

    it('and names the domain whose certificate is missing, and who has to do what', async () => {
      await store('*.other.test');
      const fix = /^Get a certificate for \*\.other\.test for the program that terminates TLS\.$/;
      await refuses(check(), Fault, /^\*\.other\.test: /, fix);
      await refuses(check({ acme: WITH_ACME }), Fault, /^/, /"_acme-challenge\.other\.test NS 127\.0\.0\.1"/);
    });

    it('and reports a failed handshake', async () => {
      await store('*.shop.test');
      server.close();
      await refuses(check(), Fault, /ECONNREFUSED/);
    });

    it('unless there are none, nothing is encrypted, or the database cannot be read', async () => {
      await refuses(check(), Skipped, /cannot be read/);
      await store('app.shop.test');
      await refuses(check(), Skipped, /no user/);
      await refuses(check({ publicUrl: new URL('http://127.0.0.1:1') }), Skipped, /not encrypted/);
      assert.deepEqual(asked, []);
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

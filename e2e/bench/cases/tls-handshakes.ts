/**
 * The cost of a TLS handshake at a relay that has its own certificates, compared with a bare server of `node:tls`: in
 * full and resumed, with 1 and 10,000 stored certificates, for one name that is always cached and for names that mostly
 * are not.
 */
import { readFileSync } from 'node:fs';
import type { SecureVersion } from 'node:tls';
import { Authority, type CertificateFiles } from '../../support/certificates.ts';
import { addCertificates } from '../../support/database.ts';
import { memoryOf } from '../../support/memory.ts';
import { Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';
import { HANDSHAKE_DOMAIN, hostOf } from '../handshakes.ts';
import { cpuSeconds } from '../../support/processes.ts';
import { rotated, type Samples } from '../stats.ts';
import { type Case, startService, visit } from './requests.ts';

const MANY = 10_000;
/** Handshakes of one measurement for each second of `--seconds`. */
const PER_SECOND = 1000;
/** Handshakes of each kind until Node's compiler has done its work. */
const WARM_UP = 1000;
/** ms for one handshake on a busy machine. */
const HANDSHAKE_MS = 50;
const BARE = 'node:tls';

const LOADS = (['TLSv1.3', 'TLSv1.2'] as const).flatMap((version) =>
  (['full', 'resumed'] as const).map((kind) => ({ version, kind })),
);

/** A server, and the names that visitors use. */
interface Subject {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** how many names visitors cycle through */
  readonly names: number;
}

/** The arguments of `visitors.ts handshakes`, except for the server. */
interface Load {
  readonly version: SecureVersion;
  readonly kind: 'full' | 'resumed';
  readonly count: number;
  /** the first of the names */
  readonly first: number;
}

interface Cost {
  readonly perSecond: number;
  /** CPU s of the server for 10,000 handshakes */
  readonly processor: number;
}

export const tlsHandshakes: Case = {
  name: 'tls-handshakes',
  async run(scope, { rounds, seconds, samples, log }) {
    const authority = new Authority(scope);
    const subjects = await startSubjects(scope, authority);
    const costOf = (subject: Subject, load: Load): Promise<Cost> => measure(scope, authority, subject, load);
    for (const subject of subjects.filter(({ names }) => names === 1)) {
      for (const load of LOADS) await costOf(subject, { ...load, count: WARM_UP, first: 0 });
    }
    log('tls-handshakes: warmed up');
    await addMemory(samples, subjects, (subject) =>
      costOf(subject, { version: 'TLSv1.3', kind: 'full', count: MANY, first: 0 }),
    );
    const count = PER_SECOND * seconds;
    let first = 0;
    for (let round = 1; round <= rounds; round += 1) {
      for (const { version, kind } of LOADS) {
        const costs = new Map<string, Cost>();
        for (const subject of rotated(subjects, round)) {
          if (isMeasured(subject, kind))
            costs.set(subject.name, await costOf(subject, { version, kind, count, first }));
        }
        first += count;
        addCosts(samples, `${version} handshakes, ${kind}, c16`, costs);
      }
      log(`tls-handshakes: round ${round} of ${rounds}`);
    }
  },
};

async function startSubjects(scope: Scope, authority: Authority): Promise<Subject[]> {
  const pair = authority.issue(`*.${HANDSHAKE_DOMAIN}`);
  const bare = await startService(scope, 'tls', pair.cert, pair.key);
  const one = await startCertified(scope, 1, pair, authority);
  const many = await startCertified(scope, MANY, pair, authority);
  const manyAt = { port: many.port, pid: many.child.pid };
  return [
    { name: BARE, ...bare, names: 1 },
    { name: 'relay, 1 certificate', port: one.port, pid: one.child.pid, names: 1 },
    { name: 'relay, 10,000 certificates, one name', ...manyAt, names: 1 },
    { name: 'relay, 10,000 certificates, all names', ...manyAt, names: MANY },
  ];
}

/** A session belongs to a name. A visitor who cycles through all names has none to resume. */
function isMeasured({ names }: Subject, kind: Load['kind']): boolean {
  return kind === 'full' || names === 1;
}

async function measure(
  scope: Scope,
  authority: Authority,
  { port, pid, names }: Subject,
  { version, kind, count, first }: Load,
): Promise<Cost> {
  const before = cpuSeconds([pid]);
  const args = ['handshakes', port, authority.path, version, kind, count, names, first];
  const output = await visit(scope, args, 20_000 + count * HANDSHAKE_MS);
  const took = Number(/^seconds ([\d.]+)$/m.exec(output)?.[1]);
  return { perSecond: count / took, processor: ((cpuSeconds([pid]) - before) * 10_000) / count };
}

/** Adds the costs, and their ratio to the cost of the bare server in the same round. */
function addCosts(samples: Samples, load: string, costs: ReadonlyMap<string, Cost>): void {
  const bare = costs.get(BARE);
  for (const [name, { perSecond, processor }] of costs) {
    samples.add(`${load}/${name}/handshakes/s`, perSecond);
    samples.add(`${load}/${name}/of ${BARE}`, perSecond / (bare?.perSecond ?? NaN));
    samples.add(`${load}/${name}/CPU s/10k`, processor);
    samples.add(`${load}/${name}/CPU of ${BARE}`, processor / (bare?.processor ?? NaN));
  }
}

/**
 * Adds the memory of a relay with many certificates before each name was visited, after one visit, and after another.
 */
async function addMemory(
  samples: Samples,
  subjects: readonly Subject[],
  visitEach: (subject: Subject) => Promise<unknown>,
): Promise<void> {
  for (const subject of subjects.filter(({ names }) => names === MANY)) {
    const add = (when: string): void =>
      samples.add(`certificates 10000/relay/RSS KiB, ${when}`, memoryOf(subject.pid).resident / 1024);
    add('before');
    await visitEach(subject);
    add('each visited once');
    await visitEach(subject);
    add('each visited twice');
  }
}

const OWN_HOST = 'relay.test';

/**
 * Starts a relay that has no reason to contact an authority, because no certificate is missing.
 *
 * @param count how many certificates are stored, one for each host, in addition to the relay's own
 * @param pair the certificate and key that all of them share
 */
async function startCertified(
  scope: Scope,
  count: number,
  pair: CertificateFiles,
  authority: Authority,
): Promise<Relay> {
  const relay = await Relay.start(scope, {
    CULVERT_PUBLIC_URL: `https://${OWN_HOST}`,
    CULVERT_TUNNEL_DOMAIN: HANDSHAKE_DOMAIN,
    CULVERT_ACME_EMAIL: `operator@${OWN_HOST}`,
    CULVERT_ACME_DIRECTORY: `https://127.0.0.1:${await closedPort()}/dir`,
    CULVERT_HTTP_PORT: String(await closedPort()),
  });
  await relay.stop();
  const hosts = Array.from({ length: count }, (_, number) => hostOf(number));
  // Visitors of a host fail if they get the relay's own one.
  const stored = [
    [hosts, pair],
    [[OWN_HOST], authority.issue(OWN_HOST)],
  ] as const;
  for (const [names, { cert, key }] of stored)
    addCertificates(relay, names, readFileSync(cert, 'utf8'), readFileSync(key, 'utf8'));
  await relay.restart();
  return relay;
}

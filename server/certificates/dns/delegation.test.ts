import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { checkAsyncScript } from '../../../shared/testing/script.ts';
import { dnsQuery } from '../../testing/dns-server.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeShell } from '../../testing/fake-shell.ts';
import type { ChallengeSolver } from '../challenge-solver.ts';
import { Authority, Zones } from './authority.ts';
import {
  type Delegation,
  DELEGATION_LOOKUP_MS,
  delegationLookup,
  Delegations,
  DELEGATIONS_KNOWN_MAX,
  Wildcards,
} from './delegation.ts';
import { readWireName } from './wire.ts';

/** A resolver that queries this authority for every name. */
type Answer = (query: Buffer) => Buffer | undefined;

describe('a delegation', () => {
  const own = authority('culvert-0123');
  let resolver: Socket;
  let answer: Answer;

  beforeEach(async () => {
    resolver = createSocket('udp4');
    resolver.on('message', (query, { port }) => {
      const response = answer(query);
      if (response !== undefined) resolver.send(response, port, '127.0.0.1');
    });
    resolver.bind(0, '127.0.0.1');
    await once(resolver, 'listening');
  });

  afterEach(() => {
    mock.timers.reset();
    resolver.close();
  });

  async function lookUp(of: Answer): Promise<unknown> {
    answer = of;
    const look = delegationLookup('culvert-0123', `127.0.0.1:${resolver.address().port}`);
    return await look('tunnels.example');
  }

  it('points to the relay if its own record is found', async () => {
    assert.deepEqual(await lookUp(own), { kind: 'ours' });
  });

  it('points elsewhere if another record is found', async () => {
    const reason = 'another server answers for it';
    assert.deepEqual(await lookUp(authority('culvert-4567')), { kind: 'missing', reason });
    assert.deepEqual(await lookUp(authority('culvert-01234')), { kind: 'missing', reason });
  });

  for (const [code, kind, reason] of [
    [0, 'missing', 'there is no such record'],
    [3, 'missing', 'there is no such record'],
    [2, 'failed', 'the DNS port of the relay does not answer for it'],
    [5, 'failed', 'the DNS port of the relay does not answer for it'],
    [4, 'failed', 'the resolver cannot be asked (ENOTIMP)'],
  ] as const) {
    it(`is ${kind} if the response has code ${code}`, async () => {
      assert.deepEqual(await lookUp((query) => withCode(query, code)), { kind, reason });
    });
  }

  it('is abandoned after 5 s without a response', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    let found: unknown;
    const asked = once(resolver, 'message');
    const looked = lookUp(() => undefined).then((result) => (found = result));
    await asked;
    mock.timers.tick(DELEGATION_LOOKUP_MS - 1);
    await turn();
    assert.equal(found, undefined);
    mock.timers.tick(1);
    await looked;
    assert.deepEqual(found, { kind: 'failed', reason: 'no resolver answers' });
  });
});

function authority(mark: string): Answer {
  const zones = new Zones(['tunnels.example'], []);
  const of = new Authority({ zones, nameServer: 'relay.example', mark });
  return (query) => {
    const read = of.read(query, 'udp');
    return read === undefined || Buffer.isBuffer(read) ? read : of.respond(read, new Map(), 'udp');
  };
}

/** @returns a response without records */
function withCode(query: Buffer, code: number): Buffer {
  const name = readWireName(query, 12) ?? '';
  return dnsQuery(Buffer.from(name, 'latin1'), {
    id: query.readUInt16BE(0),
    flags: 0x8180 | code,
    type: 6,
  });
}

const OURS: Delegation = { kind: 'ours' };
const RESULTS: Readonly<Record<string, Delegation>> = {
  ours: OURS,
  missing: { kind: 'missing', reason: 'there is no such record' },
  failed: { kind: 'failed', reason: 'the resolver cannot be asked (ETIMEOUT)' },
};

/** What a lookup finds, whether the domain is the relay's then, and what is logged. Times are in seconds. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'are cached for an hour if found':
    'ours: yes, logs seen; +3599; missing: yes; +1; missing: no, logs missing',
  'are looked up again after a minute if missing':
    'missing: no, logs missing; +59; ours: no; +1; ours: yes, logs seen',
  'are logged when they change, with the record to add, and not again': `missing: no, logs missing; +3600; missing: no;
    +3600; failed: no; +3600; ours: yes, logs seen; +3600; ours: yes; +3600; failed: yes; +3600;
    missing: no, logs missing`,
  'are logged even if no server answered, and then not assumed': 'failed: no, logs missing',
  'are kept while no server answers, and looked up again after a minute': `ours: yes, logs seen; +3600; failed: yes; +60;
    missing: no, logs missing`,
};

describe('Delegations', () => {
  let clock: FakeClock;
  let shell: FakeShell;
  let found: Delegation;
  let asked: string[];
  let delegations: Delegations;

  beforeEach(() => {
    clock = new FakeClock();
    shell = new FakeShell();
    asked = [];
    const lookUp = (domain: string): Promise<Delegation> => {
      asked.push(domain);
      return Promise.resolve(found);
    };
    delegations = new Delegations({ lookUp, nameServer: 'relay.test', clock, log: shell.log });
  });

  async function play(step: string): Promise<string> {
    if (step.startsWith('+')) {
      clock.advance(Number(step) * 1000);
      return '';
    }
    found = RESULTS[step] ?? assert.fail(step);
    const isOurs = await delegations.isOurs('t.test');
    const logs = shell.logged.splice(0).map(([event, fields]) => {
      const record = '_acme-challenge.t.test. NS relay.test.';
      const reason = 'reason' in found ? found.reason : '';
      const missing = event === 'delegation missing' && { record, reason };
      assert.deepEqual(fields, { domain: 't.test', ...missing });
      return `, logs ${event.replace('delegation ', '')}`;
    });
    return `${isOurs ? 'yes' : 'no'}${logs.join('')}`;
  }

  for (const [title, script] of Object.entries(SCRIPTS)) it(title, () => checkAsyncScript(script, play));

  it('are looked up once for simultaneous requests, and cached for 10,000 domains', async () => {
    found = OURS;
    const both = await Promise.all([delegations.isOurs('t.test'), delegations.isOurs('t.test')]);
    assert.deepEqual([both, asked], [[true, true], ['t.test']]);
    asked.length = 0;
    for (let index = 0; index <= DELEGATIONS_KNOWN_MAX; index += 1) await delegations.isOurs(`${index}.test`);
    await delegations.isOurs('1.test');
    assert.equal(asked.length, DELEGATIONS_KNOWN_MAX + 1);
    await delegations.isOurs('0.test');
    assert.equal(asked.length, DELEGATIONS_KNOWN_MAX + 2);
  });
});

const dns = { type: 'dns-01' } as ChallengeSolver;
const direct = [{ type: 'tls-alpn-01' } as ChallengeSolver];

describe('Wildcards', () => {
  let delegated: string[];
  const wildcards = new Wildcards({
    isUsers: (domain) => domain === 'mine.test',
    delegations: { isOurs: (domain) => Promise.resolve(delegated.includes(domain)) },
    dns,
    direct,
    tunnelDomain: 't.test',
    serviceDomain: 's.test',
  });

  beforeEach(() => {
    delegated = ['t.test', 'ann.s.test', 'customer.test', 's.test', 'mine.test'];
  });

  for (const [host, subject, domain] of [
    ['hello.t.test', '*.t.test', 't.test'],
    ['relay.t.test', '*.t.test', 't.test'],
    ['hello.ann.s.test', '*.ann.s.test', 'ann.s.test'],
  ] as const) {
    it(`are used for ${host}, with its own certificate as the alternative`, async () => {
      const otherwise = { subject: host, solvers: direct };
      assert.deepEqual(await wildcards.planFor(host), { subject, solvers: [dns], otherwise });
      delegated = delegated.filter((one) => one !== domain);
      assert.deepEqual(await wildcards.planFor(host), otherwise);
    });
  }

  for (const subject of ['*.t.test', '*.ann.s.test', '*.mine.test']) {
    it(`are renewed only by DNS: ${subject}`, async () => {
      assert.deepEqual(await wildcards.planFor(subject), { subject, solvers: [dns] });
      delegated = [];
      assert.deepEqual(await wildcards.planFor(subject), { subject, solvers: [] });
    });
  }

  for (const host of ['relay.test', 'app.customer.test', 'x.s.test', 'hello.bob.s.test', 'a.b.t.test']) {
    it(`are not used for ${host}`, async () => {
      assert.deepEqual(await wildcards.planFor(host), { subject: host, solvers: direct });
    });
  }

  it('do not cover the tunnel domain itself, whose challenge has the same name', async () => {
    assert.deepEqual(await wildcards.planFor('t.test'), { subject: 't.test', solvers: [dns, ...direct] });
    delegated = [];
    assert.deepEqual(await wildcards.planFor('t.test'), { subject: 't.test', solvers: direct });
  });

  it('are ordered in advance for the tunnel domain', async () => {
    assert.deepEqual(await wildcards.always(), ['*.t.test']);
    delegated = [];
    assert.deepEqual(await wildcards.always(), []);
  });
});

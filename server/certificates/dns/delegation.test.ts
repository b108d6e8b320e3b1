import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { readWireName } from './wire-name.ts';
import { Authority } from './authority.ts';
import { delegationLookup } from './delegation.ts';
import { DELEGATION_LOOKUP_MS } from '../../limits.ts';
import { dnsQuery } from '../../testing/dns-message.ts';
import { Zones } from './zones.ts';

/** A resolver that asks this authority, whatever it is asked. */
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

  it('leads to the relay where its own record is found', async () => {
    assert.deepEqual(await lookUp(own), { kind: 'ours' });
  });

  it('leads elsewhere where another is found', async () => {
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
    it(`is ${kind} where the response has code ${code}`, async () => {
      assert.deepEqual(await lookUp((query) => withCode(query, code)), { kind, reason });
    });
  }

  it('is given up after 5 s without a response', async () => {
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

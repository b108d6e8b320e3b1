import assert from 'node:assert/strict';
import { FakeClock } from '../testing/fake-clock.ts';
import { DNS_ANSWER_MS, type DnsAnswer } from './domain-check.ts';
import { OWN_ADDRESSES_MS, OwnAddresses } from './domain-service.ts';

describe('OwnAddresses', () => {
  const clock = new FakeClock();
  let answer: DnsAnswer;
  let asked: number;
  let addresses: OwnAddresses;

  beforeEach(() => {
    asked = 0;
    answer = { kind: 'found', values: ['192.0.2.1'] };
    addresses = new OwnAddresses(
      'relay.test',
      (_name, type) => {
        if (type === 'AAAA') return Promise.resolve({ kind: 'none', exists: true });
        asked += 1;
        return Promise.resolve(answer);
      },
      clock,
    );
  });

  it('are looked up once in 5 minutes', async () => {
    assert.deepEqual(await addresses.get(), ['192.0.2.1']);
    clock.advance(OWN_ADDRESSES_MS - 1);
    await addresses.get();
    assert.equal(asked, 1);
    clock.advance(1);
    await addresses.get();
    assert.equal(asked, 2);
  });

  it('are looked up again soon if the DNS returned none', async () => {
    answer = { kind: 'failed', text: 'no DNS server responded in time' };
    assert.deepEqual(await addresses.get(), []);
    answer = { kind: 'found', values: ['192.0.2.1'] };
    await addresses.get();
    assert.equal(asked, 1);
    clock.advance(DNS_ANSWER_MS);
    assert.deepEqual(await addresses.get(), ['192.0.2.1']);
  });
});

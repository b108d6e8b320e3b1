import assert from 'node:assert/strict';
import type { ForwardedUpgrade, Found, VisitHandler } from '../clients/ownership.ts';
import { settled } from '../testing/trunk-client.ts';
import { connectionId } from './connection-id.ts';
import { ClusterForwarder } from './forwarder.ts';
import type { RelayAddress } from './members.ts';

const SECRET = 's'.repeat(32);
const ADDRESS: RelayAddress = { incarnation: 'other', host: 'h', port: 1 };
const DATA: ForwardedUpgrade = {
  kind: 'data',
  id: connectionId(7, SECRET),
  key: 'key',
  authorization: undefined,
  carriesEnd: false,
};
const TRUNK: ForwardedUpgrade = { ...DATA, kind: 'trunk', id: 'tunnel' };
const THERE: Found = { kind: 'there', relay: 'other' };
const AWAY: Found = { kind: 'away', ms: 5 };

describe('ClusterForwarder', () => {
  /** what is found, time after time */
  let found: Found[];
  /** what other relays are asked for */
  let asked: string[];
  let hop: VisitHandler | undefined;
  let forwarder: ClusterForwarder;

  beforeEach(() => {
    asked = [];
    hop = undefined;
    forwarder = new ClusterForwarder({
      ownership: { find: () => Promise.resolve(found.shift() ?? assert.fail('looked too often')) },
      membership: {
        find: (number) => (number === 7 ? ADDRESS : undefined),
        named: (incarnation) => (incarnation === 'other' ? ADDRESS : undefined),
      },
      hops: {
        upgrade(to, { kind }) {
          asked.push(`${kind} from ${to.incarnation}`);
          return Promise.resolve(404);
        },
        visit(to, id, handler) {
          asked.push(`${id} from ${to.incarnation}`);
          hop = handler;
          return { cancel: () => asked.push('cancel') };
        },
      },
      secret: SECRET,
    });
  });

  for (const [what, id, wanted] of [
    ['to the relay that its id names', DATA.id, 404],
    ['nowhere if its id names no other relay', connectionId(8, SECRET), undefined],
    [
      'nowhere if no relay has created its id',
      DATA.id.slice(0, -1) + (DATA.id.endsWith('0') ? '1' : '0'),
      undefined,
    ],
  ] as const)
    it(`hands on a data socket ${what}`, async () => {
      assert.equal(await forwarder.upgrade({ ...DATA, id }), wanted);
      assert.deepEqual(asked, wanted === undefined ? [] : ['data from other']);
    });

  for (const [what, finds, wanted] of [
    ['to the relay with the control socket', [THERE], 404],
    ['nowhere if there is no control socket', [AWAY], undefined],
    ['nowhere if no relay can be asked, which is unavailable', [{ kind: 'apart' }], 503],
    ['nowhere if the relay is not known here yet', [{ kind: 'there', relay: 'unknown' }], 503],
  ] as const)
    it(`hands on a trunk ${what}`, async () => {
      found = [...finds];
      assert.equal(await forwarder.upgrade(TRUNK), wanted);
      assert.deepEqual([asked, found], [wanted === 404 ? ['trunk from other'] : [], []]);
    });

  for (const [what, finds, happens, wanted] of [
    ['passes on what the other relay does', THERE, () => hop?.failed({ kind: 'lost' }), { kind: 'lost' }],
    [
      'tells that the relay is not known here',
      { kind: 'there', relay: 'unknown' },
      () => {},
      { kind: 'lost' },
    ],
    ['tells that there is no client', AWAY, () => {}, AWAY],
    ['tells that no relay can be asked', { kind: 'apart' }, () => {}, { kind: 'apart' }],
  ] as const)
    it(what, async () => {
      found = [finds];
      const told: unknown[] = [];
      const visit = forwarder.visit('tunnel', {
        opened: () => assert.fail(),
        failed: (failure) => told.push(failure),
      });
      assert.equal(visit.relay, undefined);
      await settled();
      assert.equal(visit.relay, hop && 'other');
      happens();
      assert.deepEqual([told, asked], [[wanted], hop === undefined ? [] : ['tunnel from other']]);
    });

  it('asks nobody for a visitor who has left, or cancels that', async () => {
    const nobody = { opened: () => assert.fail(), failed: () => assert.fail() };
    found = [THERE, THERE];
    forwarder.visit('tunnel', nobody).cancel();
    await settled();
    assert.deepEqual(asked, []);
    const visit = forwarder.visit('tunnel', nobody);
    await settled();
    visit.cancel();
    assert.deepEqual(asked, ['tunnel from other', 'cancel']);
  });
});

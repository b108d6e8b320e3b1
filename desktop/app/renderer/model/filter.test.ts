import assert from 'node:assert/strict';
import { exampleOther, exampleRequest, exampleTunnel } from '../../../testing/views.ts';
import {
  ALL,
  chips,
  filterOthers,
  filterTunnels,
  foundRequests,
  methodParts,
  partOf,
  tallRows,
  visits,
} from './filter.ts';
import { otherState } from './tunnel-state.ts';

describe('search of tunnels', () => {
  const shop = exampleTunnel({ url: 'https://shop.example.com', localPort: 5173, framework: 'Vite' });
  const hooks = exampleTunnel({ url: 'https://hooks.example.com', localPort: 3000 });

  it('finds by address, port and framework, and requires all words', () => {
    assert.deepEqual(filterTunnels([shop, hooks], 'SHOP', 0), [shop]);
    assert.deepEqual(filterTunnels([shop, hooks], '3000', 0), [hooks]);
    assert.deepEqual(filterTunnels([shop, hooks], 'vite shop', 0), [shop]);
    assert.deepEqual(filterTunnels([shop, hooks], 'vite hooks', 0), []);
  });

  it('finds a folder by its name', () => {
    const site = exampleTunnel({ folder: 'Holiday' });
    assert.deepEqual(filterTunnels([shop, site], 'folder holiday', 0), [site]);
    assert.deepEqual(filterTunnels([site], '3000', 0), []);
  });

  it('finds by state', () => {
    const lost = exampleTunnel({ key: 'l', status: { name: 'reconnecting', retryAt: 0, why: '' } });
    assert.deepEqual(filterTunnels([shop, lost], 'reconnecting', 0), [lost]);
    assert.deepEqual(filterTunnels([shop, lost], 'online', 0), [shop]);
  });

  it('keeps all tunnels for an empty search', () => {
    assert.deepEqual(filterTunnels([shop, hooks], '  ', 0), [shop, hooks]);
  });
});

const LOG = [
  exampleRequest({ id: 4, target: '/hooks', method: 'POST', webhook: 'github' }),
  exampleRequest({ id: 3, target: '/caf%C3%A9' }),
  exampleRequest({ id: 2, target: '/order?id=7', method: 'POST', status: 404 }),
  exampleRequest({ id: 1, target: '/', status: undefined }),
];
const found = (typed: string): number[] => foundRequests(LOG, typed).map(({ id }) => id);

describe('the search of a log', () => {
  it('finds method, address, status and sender, in any case', () => {
    assert.deepEqual(found('post'), [4, 2]);
    assert.deepEqual(found('ORDER'), [2]);
    assert.deepEqual(found('404'), [2]);
    assert.deepEqual(found('GitHub'), [4]);
  });

  it('finds an address in encoded and decoded form', () => {
    assert.deepEqual([found('%C3'), found('café')], [[3], [3]]);
  });

  it('requires every word, and returns everything without words', () => {
    assert.deepEqual([found('post 404'), found('post café')], [[2], []]);
    assert.equal(foundRequests(LOG, ' '), LOG);
  });
});

const LOG_FILTER_LOG = [
  exampleRequest({ id: 6, durationMs: undefined }),
  exampleRequest({ id: 5, method: 'POST', replayOf: 3 }),
  exampleRequest({ id: 4, method: 'POST', replayOf: 2 }),
  exampleRequest({ id: 3, method: 'POST', replayOf: 2, status: 500 }),
  exampleRequest({ id: 2, method: 'POST', isBroken: true }),
  exampleRequest({ id: 1, durationMs: 1200 }),
];
const ids = (requests: readonly { id: number }[]): number[] => requests.map(({ id }) => id);

describe('the parts of a log', () => {
  it('have counts, and are left out if empty', () => {
    assert.deepEqual(
      chips(LOG_FILTER_LOG, ALL).map(({ label, count }) => `${label} ${count}`),
      ['All 6', '5xx 2', 'Slow 1', 'Live 1'],
    );
    assert.deepEqual(
      chips(LOG_FILTER_LOG.slice(-1), 'refused').map(({ label, count }) => `${label} ${count}`),
      ['All 1', '4xx 0', 'Slow 1'],
    );
  });

  it('have their own words for connections of a raw tunnel, of which none is slow', () => {
    const raw = { status: undefined, durationMs: 60_000 };
    const connections = [
      exampleRequest({ ...raw, durationMs: undefined, connection: 'open' }),
      exampleRequest({ ...raw, connection: 'done' }),
      exampleRequest({ ...raw, connection: 'refused', isBroken: true }),
    ];
    assert.deepEqual(
      chips(connections, ALL).map(({ label, count }) => `${label} ${count}`),
      ['All 3', 'Failed 1', 'Open 1'],
    );
  });

  it('do not include methods invented by visitors', () => {
    const odd = [
      exampleRequest({ id: 9, method: 'failed' }),
      exampleRequest({ id: 8, method: 'X'.repeat(17) }),
    ];
    assert.deepEqual(methodParts(LOG_FILTER_LOG.slice(-1)), []);
    assert.deepEqual(
      methodParts([...odd, ...LOG_FILTER_LOG]).map(({ label, count }) => `${label} ${count}`),
      ['GET 2', 'POST 4', 'failed 1'],
    );
    assert.deepEqual(ids(partOf([...odd, ...LOG_FILTER_LOG], 'method failed')), [9]);
  });

  it('contain what their name says', () => {
    assert.deepEqual(ids(partOf(LOG_FILTER_LOG, 'failed')), [3, 2]);
    assert.deepEqual(ids(partOf(LOG_FILTER_LOG, 'method POST')), [5, 4, 3, 2]);
    assert.deepEqual(
      ids(partOf([exampleRequest({ id: 7, webhook: 'stripe' }), ...LOG_FILTER_LOG], 'webhooks')),
      [7],
    );
    assert.equal(partOf(LOG_FILTER_LOG, ALL), LOG_FILTER_LOG);
  });
});

/** @param agent of the device that sent it, if a visitor did */
function by(id: number, agent?: string, replayOf?: number) {
  const from = agent === undefined ? undefined : { address: '203.0.113.7', agent };
  return exampleRequest({ id, replayOf, from });
}

describe('the second line of a row', () => {
  it('belongs to the newest request of a device, and to several tries', () => {
    const log = [by(7, undefined, 2), by(6, 'a'), by(5), by(4, 'a'), by(3, 'b'), by(2, 'b'), by(1, 'a')];
    assert.deepEqual(
      [...tallRows(visits(log))],
      [
        [0, true],
        [3, true],
        [4, false],
        [5, true],
      ],
    );
  });
});

describe('the rows of a log', () => {
  it('have all tries of a visit, including repetitions of repetitions', () => {
    const { rows, tries } = visits(LOG_FILTER_LOG);
    assert.deepEqual(ids(rows), [6, 2, 1]);
    for (const id of [2, 3, 4, 5]) assert.deepEqual(ids(tries.get(id) ?? []), [2, 3, 4, 5]);
    assert.equal(visits(LOG_FILTER_LOG.slice(-1)).rows.length, 1);
  });

  it('include edited requests, and repetitions of a dropped one', () => {
    const edited = exampleRequest({ id: 7, method: 'POST', target: '/other', replayOf: 2 });
    assert.deepEqual(ids(visits([edited, ...LOG_FILTER_LOG]).rows), [7, 6, 2, 1]);
    assert.deepEqual(ids(visits(LOG_FILTER_LOG.slice(0, 2)).rows), [6, 5]);
  });
});

describe('a tunnel that this app does not serve', () => {
  it('shows who serves it, if anybody', () => {
    assert.deepEqual(otherState(exampleOther({ log: { epoch: 0, revision: 0 } })), {
      shape: 'online',
      word: 'Online',
      where: 'The command on this computer',
    });
    assert.match(otherState(exampleOther()).where, /Another computer/);
    const offline = otherState(exampleOther({ isOnline: false }));
    assert.deepEqual([offline.word, offline.where], ['Offline', "The tunnel's client is not connected"]);
    assert.equal(otherState(exampleOther({ isStopping: true })).word, 'Stopping');
  });

  it('is found by address, port and state', () => {
    const [shop, docs] = [
      exampleOther({ key: 'a', url: 'https://shop.example.com', localPort: 3000 }),
      exampleOther({
        key: 'b',
        url: 'https://docs.example.com',
        localPort: 4000,
        isOnline: false,
        createdBy: 'ann',
      }),
    ];
    const all = [shop, docs];
    for (const [typed, wanted] of [
      ['', all],
      ['SHOP', [shop]],
      ['4000', [docs]],
      ['offline example', [docs]],
      ['ann', [docs]],
      ['nothing', []],
    ] as const)
      assert.deepEqual(filterOthers(all, typed), wanted, typed);
  });
});

import assert from 'node:assert/strict';
import { exampleSnapshot, exampleTunnel } from '../../../testing/views.ts';
import type { Settings, TunnelView } from '../../ipc/snapshot.ts';
import type { ProjectTunnelStatus } from '../../ipc/tunnel-views.ts';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import {
  announcements,
  byProject,
  doorWords,
  isLive,
  isOffered,
  openWishes,
  retryWords,
  rulesWords,
  statusWord,
  tunnelState,
} from './tunnel-state.ts';

function tunnelOf(key: string, project?: string): TunnelView {
  return exampleTunnel({ key, project: project === undefined ? undefined : { name: project, label: key } });
}

describe('the rail', () => {
  it('shows tunnels without a project first, then each project', () => {
    const groups = byProject([
      tunnelOf('a', 'shop'),
      tunnelOf('b'),
      tunnelOf('c', 'wiki'),
      tunnelOf('d', 'shop'),
    ]);
    assert.deepEqual(
      groups.map(({ project, tunnels }) => [project, ...tunnels.map(({ key }) => key)]),
      [
        [undefined, 'b'],
        ['shop', 'a', 'd'],
        ['wiki', 'c'],
      ],
    );
    assert.deepEqual(byProject([]), []);
  });

  it('tells what visitors are asked for, and how many wait', () => {
    assert.equal(doorWords(exampleTunnel()), undefined);
    const lock = { kind: 'knock' } as const;
    assert.equal(doorWords(exampleTunnel({ lock })), 'Ask me');
    const knocks = [{ id: 'n', address: '203.0.113.7', agent: '' }];
    assert.equal(doorWords(exampleTunnel({ lock, knocks })), 'Ask me · 1 waiting');
  });
});

describe('announcements', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  const tunnel = exampleTunnel({ slug: 'shop' });
  const before = exampleSnapshot({ tunnels: [tunnel] });
  const after = (changes: Partial<typeof tunnel>) =>
    exampleSnapshot({ tunnels: [{ ...tunnel, ...changes }] });

  it('report changes of state', () => {
    const lost = after({ status: { name: 'reconnecting', retryAt: 0, why: '' } });
    assert.deepEqual(announcements(before, lost), ['shop lost its connection and is reconnecting.']);
    assert.deepEqual(announcements(lost, before), ['shop is online.']);
    const over = after({ status: { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' } });
    assert.deepEqual(announcements(before, over), ['shop has ended. The tunnel has expired.']);
  });

  it('report who signed in', () => {
    const out = exampleSnapshot({
      session: { state: 'signed-out', relay: undefined, problem: undefined, keeps: [] },
    });
    assert.deepEqual(announcements(out, before), ['Signed in as acme.']);
  });

  it('report a local problem, and its end', () => {
    const trouble = after({ localProblem: { code: 'refused', text: 'Nothing listens on port 3000.' } });
    assert.deepEqual(announcements(before, trouble), ['shop: Nothing listens on port 3000.']);
    assert.deepEqual(announcements(trouble, before), ['shop can reach your server again.']);
  });

  it('ignore numbers, a first snapshot, and tunnels that had ended before', () => {
    assert.deepEqual(announcements(before, after({ requests: 99 })), []);
    assert.deepEqual(announcements(undefined, before), []);
    const over = after({ status: { name: 'ended', reason: 'expired', why: '' } });
    assert.deepEqual(announcements(exampleSnapshot({ tunnels: [] }), over), []);
  });

  it('report an approval request once', () => {
    const knock = { id: 'n1', address: '192.0.2.7', agent: 'curl/8' };
    const one = after({ knocks: [knock] });
    assert.deepEqual(announcements(before, one), ['curl is asking for access to shop.']);
    const two = after({ knocks: [knock, { ...knock, id: 'n2' }] });
    assert.deepEqual(announcements(one, two), ['curl is asking for access to shop.']);
    assert.deepEqual(announcements(two, before), []);
  });

  it('report no more than a person can listen to', () => {
    const many = Array.from({ length: 50 }, (_, n) => exampleTunnel({ key: `k${n}`, slug: `s${n}` }));
    const told = announcements(exampleSnapshot({ tunnels: [] }), exampleSnapshot({ tunnels: many }));
    assert.equal(told.length, 4);
    assert.equal(told[3], 'And 47 more changes.');
  });

  it('are in German if the app is', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const knocks = [{ id: 'n1', address: '192.0.2.7', agent: '' }];
    assert.deepEqual(announcements(before, after({ knocks })), [
      'Ein unbekanntes Programm bittet um Zugang zu shop.',
    ]);
    const four = Array.from({ length: 4 }, (_, n) => exampleTunnel({ key: `k${n}`, slug: `s${n}` }));
    const told = announcements(exampleSnapshot({ tunnels: [] }), exampleSnapshot({ tunnels: four }));
    assert.equal(told[3], 'Und eine weitere Änderung.');
  });
});

const NOW = 1_000_000;

function ended(reason: string): TunnelView {
  return exampleTunnel({ status: { name: 'ended', reason, why: '' } });
}

describe('tunnel state', () => {
  const live = exampleTunnel({ expiresAt: NOW + 3_600_000 });

  it('has a shape and a word for each status', () => {
    assert.deepEqual(tunnelState(live, NOW), { shape: 'online', word: 'Online' });
    assert.equal(tunnelState({ ...live, status: { name: 'connecting' } }, NOW).shape, 'connecting');
    const lost = { name: 'reconnecting', retryAt: NOW, why: '' } as const;
    assert.equal(tunnelState({ ...live, status: lost }, NOW).shape, 'reconnecting');
  });

  it('shows what needs the user first', () => {
    const localProblem = { code: 'refused', text: 'Nothing listens on port 3000.' };
    assert.equal(tunnelState({ ...live, localProblem }, NOW).shape, 'trouble');
    assert.equal(tunnelState({ ...live, expiresAt: NOW + 60_000 }, NOW).shape, 'soon');
  });

  it('names how a tunnel ended, even for an unknown reason', () => {
    assert.equal(tunnelState(ended('stopped'), NOW).word, 'Stopped');
    assert.equal(tunnelState(ended('replaced'), NOW).word, 'Taken over');
    assert.equal(tunnelState(ended('eaten'), NOW).word, 'Ended');
    assert.equal(isLive(ended('stopped')), false);
  });

  it('counts down to the next attempt', () => {
    assert.equal(retryWords({ retryAt: NOW + 3200 }, NOW), 'Trying again in 4 s.');
    assert.equal(retryWords({ retryAt: NOW - 5 }, NOW), 'Trying again now.');
  });
});

describe('a tunnel of a project', () => {
  it('is offered unless it is running, starting, or cannot be started', () => {
    const all: [ProjectTunnelStatus, boolean, string | undefined][] = [
      [{ name: 'ready' }, true, undefined],
      [{ name: 'failed', why: 'x' }, true, undefined],
      [{ name: 'blocked', why: 'x' }, false, undefined],
      [{ name: 'online' }, false, 'Already online'],
      [{ name: 'starting' }, false, 'Starting…'],
      [{ name: 'started' }, false, 'Started'],
    ];
    for (const [status, offered, word] of all)
      assert.deepEqual([isOffered({ status }), statusWord({ status })], [offered, word], status.name);
  });

  it('shows the access policy and the lifetime', () => {
    assert.equal(rulesWords({ lock: { kind: 'anyone' }, ttl: undefined }), 'Anyone');
    assert.equal(
      rulesWords({ lock: { kind: 'other', parts: ['users', 'links'], password: undefined }, ttl: '4h' }),
      'Users · Links · for 4h',
    );
    assert.equal(
      rulesWords({ lock: { kind: 'addresses', allow: ['10.0.0.0/8'] }, ttl: undefined }),
      'Only from 10.0.0.0/8',
    );
    assert.equal(rulesWords({ lock: undefined, ttl: undefined }), 'access unknown');
  });
});

describe('wishes', () => {
  const settings: Settings = { ...exampleSnapshot().settings, startsAtLogin: true };

  it('end once the settings fulfil them', () => {
    assert.deepEqual(openWishes({ startsAtLogin: true, theme: 'dark' }, settings), { theme: 'dark' });
  });

  it('outlast an earlier snapshot', () => {
    const wishes = { startsAtLogin: false };
    assert.equal(openWishes(wishes, settings), wishes);
  });
});

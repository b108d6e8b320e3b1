import assert from 'node:assert/strict';
import { checkScript } from '../../../shared/testing/script.ts';
import { tunnelView } from '../../testing/views.ts';
import type { TunnelStatus } from '../ipc/snapshot.ts';
import { DEFAULT_LOCALE, setLocale } from '../messages/translate.ts';
import { Notices, Outage } from './notices.ts';

const STATUSES: Readonly<Record<string, TunnelStatus>> = {
  online: { name: 'online' },
  lost: { name: 'reconnecting', retryAt: 0, why: 'No connection to the relay.' },
  expired: { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' },
  stopped: { name: 'ended', reason: 'stopped', why: 'You stopped the tunnel.' },
};

/** A step's time in ms, such as `55m`, and its other words. `name=N` are by name. */
function read(step: string) {
  const [time = '', ...words] = step.split(' ');
  const numbers = new Map(words.map((word) => word.split('=')).map(([name = '', n]) => [name, Number(n)]));
  return {
    now: Number.parseFloat(time) * (time.endsWith('m') ? 60_000 : 1000),
    has: (word: string) => numbers.has(word),
    number: (name: string) => numbers.get(name),
  };
}

/**
 * Each step is a time and what is known then about one tunnel, or `of` many: its status unless it is online, how many
 * `requests` it had, when it ends (`until`, in minutes), and whether its user sees it.
 */
function checkNotices(script: string): void {
  const notices = new Notices();
  checkScript(script, (step) => {
    const { now, has, number } = read(step);
    const [, status = STATUSES['online']] = Object.entries(STATUSES).find(([name]) => has(name)) ?? [];
    const count = has('none') ? 0 : (number('of') ?? 1);
    const tunnels = Array.from({ length: count }, (_, n) =>
      tunnelView({
        key: `k${n}`,
        ...(status && { status }),
        requests: number('requests') ?? 0,
        pulse: has('pulse') ? [{ id: 0, requests: 1, refused: 0, errors: 0 }] : [],
        expiresAt: (number('until') ?? 60) * 60_000,
        ttl: number('ttl') ?? 3600,
      }),
    );
    const found = notices.look(tunnels, now, has('seen'));
    return found.map(({ kind, title, key }) => (count > 1 ? `${title} ${key ?? ''}`.trim() : kind)).join();
  });
}

describe('Notices', () => {
  const scripts: Readonly<Record<string, string>> = {
    'warn once, five minutes before the end': '0m; 54m; 55m: expires-soon; 56m',
    'warn again of the end of a tunnel that was extended': `
      55m: expires-soon; 56m until=120; 116m until=120: expires-soon`,
    'do not warn of the end of a tunnel that was created for such a short time': '0m ttl=300 until=5',
    'report once that a tunnel has expired': '0m; 60m expired: expired; 61m expired',
    'report nothing about one that was stopped': '0m; 1m stopped',
    'report nothing that had ended before the start': '0m expired',
    'report the first visitor of a tunnel once':
      '0s; 1s pulse: first-visitor; 2s requests=7; 3s; 4s requests=8',
    'report no first visitor from before the start': '0s requests=1; 1s requests=2',
    'report no first visitor that the user has seen': '0s seen; 1s requests=1 seen; 2s requests=2',
    'report the first visitors of many tunnels in one notice': `
      0s of=10; 1s of=10 requests=1: 10 tunnels have their first visitors`,
    'report a connection lost for 30 s, and its return': `
      0s; 1s lost; 30.9s lost; 31s lost: lost; 40s lost; 41s: back; 42s`,
    'report nothing about a connection that recovers sooner': '0s lost; 29s',
    'do not mistake sleep for a lost connection': '0s lost; 600s lost; 629s lost; 630s lost: lost',
    'are merged for tunnels that expire together': '0m of=10; 60m of=10 expired: 10 tunnels have expired',
    'are not shown, then or later, for what the user sees in the window': `
      0m; 55m seen; 56m; 60m expired seen; 61m expired`,
    'forget tunnels that left the list': '55m: expires-soon; 56m none; 57m: expires-soon',
  };
  for (const [title, script] of Object.entries(scripts)) it(title, () => checkNotices(script));

  it('name the folder of a tunnel that shares one', () => {
    const notices = new Notices();
    const folder = tunnelView({ folder: 'site' });
    notices.look([folder], 0);
    const ended = { name: 'ended', reason: 'expired', why: '' } as const;
    const told = [{ requests: 1 }, { status: ended, requests: 1 }].flatMap((changes, at) =>
      notices.look([{ ...folder, ...changes }], at + 1),
    );
    assert.deepEqual(
      told.map(({ text }) => text),
      [
        'The first visitor reached folder site.',
        'Folder site is no longer shared. Start it again in Culvert.',
      ],
    );
  });
});

/** Each step is a time, how many of 30 tunnels are lost or have expired, and whether the user sees that. */
function checkOutage(script: string): void {
  const outage = new Outage();
  checkScript(`0s; ${script}`, (step) => {
    const { now, has, number } = read(step);
    const bad = STATUSES[has('expired') ? 'expired' : 'lost'];
    const badCount = number('expired') ?? number('lost') ?? 0;
    const tunnels = Array.from({ length: 30 }, (_, n) => {
      const status = n < badCount ? bad : STATUSES['online'];
      return tunnelView({ key: `k${n}`, slug: `shop-${n}`, ...(status && { status }) });
    });
    const found = outage.look(tunnels, now, has('seen'));
    return found.map(({ title }) => title).join();
  });
}

describe('Outage', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  const scripts: Readonly<Record<string, string>> = {
    'is one notice for tunnels lost together, and one for their return': `
      1s lost=30; 31s lost=30: 30 tunnels are offline; 40s lost=30; 41s: All 30 tunnels are back; 42s`,
    'counts tunnels that are lost a little later, without notices of their own': `
      1s lost=1; 4s lost=30; 31s lost=30: 30 tunnels are offline; 36s lost=30`,
    'replaces the first notice when another tunnel is lost later': `
      1s lost=1; 31s lost=1: shop-0 is offline; 32s lost=2; 62s lost=2: 2 tunnels are offline`,
    'is over when the last one is back': `
      1s lost=30; 31s lost=30: 30 tunnels are offline; 32s lost=1; 33s: All 30 tunnels are back`,
    'does not report a tunnel as back that ended during the outage': `
      1s lost=30; 31s lost=30: 30 tunnels are offline; 32s expired=1: 29 tunnels are back; 33s expired=1`,
    'needs no notice while the user sees it in the window, nor does its end then': `
      1s lost=30; 31s lost=30 seen; 36s lost=30; 37s`,
    'has no notice of its end while the user sees that': `
      1s lost=30; 31s lost=30: 30 tunnels are offline; 32s seen; 33s`,
  };
  for (const [title, script] of Object.entries(scripts)) it(title, () => checkOutage(script));

  it("is reported in the user's language", () => {
    setLocale({ language: 'de', tag: 'de' });
    checkOutage('1s lost=30; 31s lost=30: 30 Tunnel sind offline; 33s: Alle 30 Tunnel sind wieder da');
  });
});

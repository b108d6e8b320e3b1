import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { OPEN } from '../../../../shared/access.ts';
import { RelayRefusal, RelayUnreachable } from '../../../client/relay/errors.ts';
import { parseRelayAddress } from '../../../client/relay/relay-address.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { emptyLog, FakeApi, FakeServe, TUNNEL } from '../../../testing/fake-platform.ts';
import { CallFailure } from '../failure.ts';
import { TUNNELS_MAX } from '../limits.ts';
import { UndoList } from '../undo-list.ts';
import type { SavedTunnel } from './create-form-schema.ts';
import { RelayCloser, TunnelList } from './tunnel-list.ts';

const KEPT = { port: 3000, name: '', ttl: '', idle: false, hostHeader: 'keep' };
const ENDED = { reason: 'expired', why: 'The tunnel has expired.' };

/** A full list, newest first; the tunnels at the indices `ended` have ended. */
function fullList(...ended: number[]): { tunnelList: TunnelList; api: FakeApi } {
  return savedList(
    Array.from({ length: TUNNELS_MAX }, (_, index): SavedTunnel => ({
      key: `tunnel-${index}`,
      form: KEPT,
      tunnel: TUNNEL,
      ended: ended.includes(index) ? ENDED : undefined,
    })),
  );
}

function savedList(saved: readonly SavedTunnel[]) {
  const clock = new FakeClock();
  const api = new FakeApi();
  const connection = { relay: parseRelayAddress('https://relay.example.com'), key: 'cvt_', api };
  const tunnelList = new TunnelList(
    {
      clock,
      serve: new FakeServe().serve,
      createLog: emptyLog,
      undos: new UndoList(clock, (error) => assert.fail(String(error))),
      connection: () => connection,
      save: () => Promise.resolve(),
      inventPassword: () => assert.fail(),
      onKnock: () => assert.fail(),
      onKeyRefused: () => assert.fail(),
      onSaveFailed: (error) => assert.fail(String(error)),
    },
    saved,
  );
  return { tunnelList, api, clock, connection };
}

describe('TunnelList', () => {
  it('keeps 200 tunnels: a new one replaces the oldest that has ended', async () => {
    const { tunnelList } = fullList(5, 150);
    const made = await tunnelList.create(KEPT, OPEN);
    const keys = tunnelList.tunnels.map(({ key }) => key);
    assert.equal(keys.length, TUNNELS_MAX);
    assert.equal(keys[0], made.key);
    assert.deepEqual([keys.includes('tunnel-5'), keys.includes('tunnel-150')], [true, false]);
  });

  it('rejects a tunnel that does not fit, without a call to the relay', async () => {
    const { tunnelList, api } = fullList();
    await assert.rejects(tunnelList.create(KEPT, OPEN), (error) => {
      assert.ok(error instanceof CallFailure);
      assert.match(error.error.text, /can have at most 200 tunnels\. Stop one first\./);
      return true;
    });
    assert.deepEqual(api.calls, []);
  });

  it('extends tunnels without a chosen lifetime while it serves them, by the clock of the relay', async () => {
    const item = { key: 'kept', form: KEPT, tunnel: TUNNEL, ended: undefined };
    const { tunnelList, api, clock, connection } = savedList([
      item,
      { ...item, key: 'chosen', form: { ...KEPT, ttl: '1h' } },
      { ...item, key: 'idle', form: { ...KEPT, idle: true } },
      { ...item, key: 'ended', ended: ENDED },
    ]);
    api.tunnels = [TUNNEL];
    const extensions = async (): Promise<string[]> => {
      api.time += 60_000;
      clock.advance(60_000);
      await turn();
      return api.calls.filter((call) => call.startsWith('extend'));
    };
    await tunnelList.resume(connection, true);
    assert.deepEqual(await extensions(), []);
    api.time = Date.parse(TUNNEL.expires_at) - 31 * 60_000;
    assert.deepEqual(await extensions(), [`extend ${TUNNEL.id.slice(-1)} 1800s`]);
    assert.equal(tunnelList.find('kept').tunnel.expires_at, '2026-07-10T14:00:00.000Z');
    tunnelList.find('kept').end('stopped', () => 'You stopped it.');
    api.time = Date.parse('2026-07-10T13:59:00.000Z');
    assert.equal((await extensions()).length, 1);
  });
});

describe('RelayCloser', () => {
  const rows: readonly (readonly [what: string, errors: readonly Error[], calls: number])[] = [
    ['closes once if the relay is reachable', [], 1],
    [
      'retries until the relay confirms',
      [new RelayUnreachable('gone'), new RelayRefusal(503, 'service unavailable')],
      3,
    ],
    ['treats a missing tunnel as closed', [new RelayRefusal(404, 'tunnel not found')], 1],
  ];
  for (const [what, errors, calls] of rows)
    it(what, async () => {
      const rest = [...errors];
      let closes = 0;
      const closeTunnel = (): Promise<void> => {
        closes += 1;
        const error = rest.shift();
        return error === undefined ? Promise.resolve() : Promise.reject(error);
      };
      const closer = new RelayCloser();
      await closer.close({ closeTunnel }, 'a');
      for (let times = 4; times > 0; times -= 1) await closer.retry({ closeTunnel });
      assert.equal(closes, calls);
    });
});

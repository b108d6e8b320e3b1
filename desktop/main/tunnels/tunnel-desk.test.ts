import assert from 'node:assert/strict';
import { OPEN } from '../../../shared/access.ts';
import { parseRelayAddress } from '../../engine/relay/relay-address.ts';
import { emptyLog, FakeApi, FakeServe } from '../../testing/fake-platform.ts';
import { TUNNEL } from '../../testing/tunnel.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { UndoList } from '../undo/undo-list.ts';
import { CallFailure } from '../failure.ts';
import { TUNNELS_MAX } from '../limits.ts';
import type { SavedTunnel } from './saved-tunnel.ts';
import { TunnelDesk } from './tunnel-desk.ts';

const KEPT = { port: 3000, name: '', ttl: '', idle: false, hostHeader: 'keep' };
const ENDED = { reason: 'expired', why: 'The tunnel has expired.' };

/** A full list, newest first, in which the tunnels at `ended` have ended. */
function fullDesk(...ended: number[]): { desk: TunnelDesk; api: FakeApi } {
  const api = new FakeApi();
  const connection = { relay: parseRelayAddress('https://relay.example.com'), key: 'cvt_', api };
  const saved = Array.from({ length: TUNNELS_MAX }, (_, index): SavedTunnel => ({
    key: `tunnel-${index}`,
    form: KEPT,
    tunnel: TUNNEL,
    ended: ended.includes(index) ? ENDED : undefined,
  }));
  const desk = new TunnelDesk(
    {
      now: () => 0,
      serve: new FakeServe().serve,
      createLog: emptyLog,
      undos: new UndoList(new FakeClock(), (error) => assert.fail(String(error))),
      connection: () => connection,
      save: () => Promise.resolve(),
      inventPassword: () => assert.fail(),
      onKnock: () => assert.fail(),
      onKeyRefused: () => assert.fail(),
      onSaveFailed: (error) => assert.fail(String(error)),
    },
    saved,
  );
  return { desk, api };
}

describe('TunnelDesk', () => {
  it('keeps 200 tunnels: the oldest that has ended makes room for a new one', async () => {
    const { desk } = fullDesk(5, 150);
    const made = await desk.create(KEPT, OPEN);
    const keys = desk.tunnels.map(({ key }) => key);
    assert.equal(keys.length, TUNNELS_MAX);
    assert.equal(keys[0], made.key);
    assert.deepEqual([keys.includes('tunnel-5'), keys.includes('tunnel-150')], [true, false]);
  });

  it('asks the relay for no more than it keeps', async () => {
    const { desk, api } = fullDesk();
    await assert.rejects(desk.create(KEPT, OPEN), (error) => {
      assert.ok(error instanceof CallFailure);
      assert.match(error.error.text, /keeps 200 tunnels\. Stop one first\./);
      return true;
    });
    assert.deepEqual(api.calls, []);
  });
});

import assert from 'node:assert/strict';
import { OPEN } from '../../../../shared/access.ts';
import { parseRelayAddress } from '../../../client/relay/relay-address.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { FakeApi, FakeServe, TUNNEL } from '../../../testing/fake-platform.ts';
import { SPEC } from '../../../testing/tunnel-spec.ts';
import { CallFailure } from '../failure.ts';
import { UndoList } from '../undo-list.ts';
import type { SavedTunnel } from './create-form-schema.ts';
import { TunnelList, TUNNELS_MAX } from './tunnel-list.ts';

const ENDED = { reason: 'expired', why: 'The tunnel has expired.' } as const;

/** A full list, newest first; the tunnels at the indices `ended` have ended. */
function fullList(...ended: number[]): { tunnelList: TunnelList; api: FakeApi } {
  const clock = new FakeClock();
  const api = new FakeApi();
  const connection = { relay: parseRelayAddress('https://relay.example.com'), key: 'cvt_', api };
  const saved = Array.from({ length: TUNNELS_MAX }, (_, index): SavedTunnel => ({
    key: `tunnel-${index}`,
    settings: SPEC,
    tunnel: TUNNEL,
    ended: ended.includes(index) ? ENDED : undefined,
  }));
  const tunnelList = new TunnelList(
    {
      clock,
      connectTunnel: new FakeServe().connect,
      keptBody: () => 0,
      inspector: undefined,
      undos: new UndoList(clock, (error) => assert.fail(String(error))),
      connection: () => connection,
      save: () => Promise.resolve(),
      inventPassword: () => assert.fail(),
      onKnock: () => assert.fail(),
      onKeyRefused: () => assert.fail(),
      onSaveFailed: (error) => assert.fail(String(error)),
    },
    { saved, passwords: new Map() },
  );
  return { tunnelList, api };
}

describe('TunnelList', () => {
  it('keeps 200 tunnels: a new one replaces the oldest that has ended', async () => {
    const { tunnelList } = fullList(5, 150);
    const made = await tunnelList.create(SPEC, OPEN);
    const keys = tunnelList.tunnels.map(({ key }) => key);
    assert.equal(keys.length, TUNNELS_MAX);
    assert.equal(keys[0], made.key);
    assert.deepEqual([keys.includes('tunnel-5'), keys.includes('tunnel-150')], [true, false]);
  });

  it('rejects a tunnel that does not fit, without a call to the relay', async () => {
    const { tunnelList, api } = fullList();
    await assert.rejects(tunnelList.create(SPEC, OPEN), (error) => {
      assert.ok(error instanceof CallFailure);
      assert.match(error.error.text, /can have at most 200 tunnels\. Stop one first\./);
      return true;
    });
    assert.deepEqual(api.calls, []);
  });
});

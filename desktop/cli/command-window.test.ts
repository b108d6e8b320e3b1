import assert from 'node:assert/strict';
import type { RelayAccess } from '../client/config/relay-access.ts';
import { CommandWindow } from './command-window.ts';

type Opened = Awaited<ReturnType<NonNullable<ConstructorParameters<typeof CommandWindow>[2]>>>;
type Shown = Parameters<Opened['add']>[0];

describe('the window of a command', () => {
  it('shows the tunnels that are live when it opens and those that follow, and keeps none that has ended', async () => {
    const shown: Shown[] = [];
    const opened = { add: (tunnel: Shown) => shown.push(tunnel) } as unknown as Opened;
    const window = new CommandWindow({} as RelayAccess, undefined, () => Promise.resolve(opened));
    const serve = (id: string) => window.show({ tunnel: { id } } as unknown as Shown);
    serve('ended').onState({ name: 'offline', reason: 'closed', why: 'It was closed.' });
    serve('live');
    // The stand-in has no links, which is reported.
    assert.equal(await window.open(() => {}), undefined);
    serve('later');
    assert.deepEqual(
      shown.map(({ tunnel }) => tunnel.id),
      ['live', 'later'],
    );
  });
});

import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { VisitorSocket } from './visitor-socket.ts';

// Asking for all objects of the class instead takes seconds in a process that has run many tests.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('VisitorSocket', () => {
  it('is not kept by a connection that was handed over, which may last for days', async () => {
    const handler = { onInput() {}, onInputEnd() {}, onOutput() {}, onOutputTaken() {}, onClosed() {} };
    const handOver = (): { socket: Socket; wrapper: WeakRef<VisitorSocket> } => {
      const wrapper = new VisitorSocket(new Socket(), () => undefined, handler);
      return { socket: wrapper.release().socket, wrapper: new WeakRef(wrapper) };
    };
    const handedOver = [handOver(), handOver(), handOver()];
    // What a reference was made to stays until the turn ends.
    await turn();
    collectGarbage();
    assert.deepEqual(
      handedOver.map(({ wrapper }) => wrapper.deref()),
      [undefined, undefined, undefined],
    );
    for (const { socket } of handedOver) socket.destroy();
  });
});

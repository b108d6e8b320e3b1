import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { queryObjects } from 'node:v8';
import { VisitorSocket } from './visitor-socket.ts';

function handedOver(): Socket {
  const handler = { onInput() {}, onInputEnd() {}, onOutput() {}, onOutputTaken() {}, onClosed() {} };
  return new VisitorSocket(new Socket(), () => undefined, handler).release().socket;
}

describe('VisitorSocket', () => {
  it('is not kept by a connection that was handed over, which may last for days', () => {
    const before = queryObjects(VisitorSocket);
    const sockets = [handedOver(), handedOver(), handedOver()];
    assert.equal(queryObjects(VisitorSocket), before);
    for (const socket of sockets) socket.destroy();
  });
});

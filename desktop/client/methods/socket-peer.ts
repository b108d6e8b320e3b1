/** A peer over a WebSocket: of a page in a browser, or of another program of this user. */
import type { WebSocket } from 'ws';
import { Peer, type PeerHandler } from './peer.ts';

/** The close code for a message that none of ours sends (RFC 6455 section 7.4.1). */
const POLICY_VIOLATION = 1008;

interface SocketLimits {
  readonly maxBytes: number;
  readonly maxCalls: number;
  /** amount that may wait for a peer that does not read when there is more for it; then it is cut off */
  readonly backlogBytes: number;
}

export function peerOver(
  socket: WebSocket,
  handler: PeerHandler,
  { maxBytes, maxCalls, backlogBytes }: SocketLimits,
): Peer {
  const peer = new Peer(
    {
      maxBytes,
      maxCalls,
      send({ parts, text }, sent) {
        if (socket.bufferedAmount > backlogBytes) return socket.terminate();
        for (const part of parts) socket.send(part);
        socket.send(text, () => sent?.());
      },
      refuse: (why) => socket.close(POLICY_VIOLATION, why),
    },
    handler,
  );
  socket.on('error', () => socket.terminate());
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) peer.takeBytes(data);
    else peer.takeText(data.toString());
  });
  socket.on('close', () => peer.close());
  return peer;
}

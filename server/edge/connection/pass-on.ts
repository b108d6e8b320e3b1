/** The rest of a visitor's connection, for the relay that has replaced this one. */
import type { Socket } from 'node:net';
import type { Peer } from '../heads/request-head.ts';

/**
 * Opens a connection to the relay that serves in place of this one.
 *
 * @param onReset called when the visitor is to be cut in a way that cannot be mistaken for a clean end
 */
export type Onward = (peer: Peer, onReset: () => void) => Promise<Socket>;

/** A visitor's connection with nothing under way on it. */
export interface Rest {
  readonly socket: Socket;
  /** what the visitor has sent, and nobody has read */
  readonly bytes: Buffer;
  /** whether that is all the visitor will send */
  readonly hasEnded: boolean;
}

/**
 * Joins both until they end, each direction for itself. Where the other relay cannot be reached or breaks off, the visitor is
 * cut.
 *
 * @param onClosed called once, when the visitor's connection is closed
 */
export async function passOn(
  { socket, bytes, hasEnded }: Rest,
  peer: Peer,
  onward: Onward,
  onClosed: () => void,
): Promise<void> {
  socket.pause();
  socket.once('close', onClosed);
  const next = await onward(peer, () => socket.resetAndDestroy()).catch(() => undefined);
  if (next === undefined) return void socket.resetAndDestroy();
  if (socket.destroyed) return void next.destroy();
  next.once('close', () => {
    if (!next.readableEnded) socket.resetAndDestroy();
  });
  socket.once('close', () => next.destroy());
  next.write(bytes);
  next.pipe(socket);
  if (hasEnded) next.end();
  else socket.pipe(next);
}

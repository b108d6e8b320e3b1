/** The rest of a visitor's connection, for the relay that has replaced this one. */
import type { Socket } from 'node:net';
import type { Peer } from './request-head.ts';
import { PLAIN_ENDING } from './response-head.ts';
import { ResponseRelay } from './response.ts';
import type { VisitorConnection } from './visitor-connection.ts';
import { type Rest, VisitorOutput } from './visitor-socket.ts';

/**
 * Opens a connection to the relay that serves instead of this one.
 *
 * @param onReset called when the visitor must be cut in a way that cannot be mistaken for a clean end
 */
export type Onward = (peer: Peer, onReset: () => void) => Promise<Socket>;

/**
 * Joins both until they end, each direction separately. If the other relay cannot be reached or breaks off, the
 * visitor is cut.
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
  let isOver = hasEnded;
  socket.attach({ arrived() {}, ended: () => (isOver = true), sent() {}, stalled() {}, closed: onClosed });
  const next = await onward(peer, () => socket.resetAndDestroy()).catch(() => undefined);
  if (next === undefined) return void socket.resetAndDestroy();
  if (socket.destroyed) return void next.destroy();
  const output = new VisitorOutput(socket, { onOutputTaken: () => next.resume() });
  const send = sender(socket, output, bytes);
  socket.attach({
    arrived(piece) {
      if (!next.write(piece)) socket.pause();
    },
    ended: () => next.end(),
    sent: () => output.sent(),
    stalled: () => output.stalled(),
    closed() {
      next.destroy();
      onClosed();
    },
  });
  next.once('close', () => {
    if (!next.readableEnded) socket.resetAndDestroy();
  });
  next.on('data', (piece: Buffer) => {
    if (!send(piece)) return void socket.resetAndDestroy();
    if (output.isFull) next.pause();
  });
  next.on('end', () => {
    send(undefined);
    output.end(() => {});
  });
  // It may have been paused after the greeting of the other relay.
  next.resume();
  next.write(bytes);
  if (isOver) return void next.end();
  next.on('drain', () => socket.resume());
  socket.resume();
}

/**
 * @param request what the visitor has sent so far
 * @returns sends the next bytes of the other relay, or that it has ended; false if a message cannot be made of them
 */
function sender(
  { messages, statusMax = Infinity }: VisitorConnection,
  output: VisitorOutput,
  request: Buffer,
): (bytes: Buffer | undefined) => boolean {
  let isRaw = messages === undefined;
  const passOnBytes = (bytes: Buffer | undefined): boolean => {
    if (bytes === undefined) messages?.finish([]);
    else output.send(bytes);
    return true;
  };
  if (messages === undefined) return passOnBytes;
  const sink = {
    messages,
    statusMax,
    get isFull() {
      return output.isFull;
    },
    send: (bytes: Buffer) => output.send(bytes),
    begin: (...head: Parameters<typeof messages.begin>) => {
      messages.begin(...head);
      output.noteWritten();
    },
  };
  const head = request.toString('latin1');
  const webSocketKey = OWN_KEY.exec(head)?.[1];
  const response = new ResponseRelay(
    {
      method: head.slice(0, head.indexOf(' ')),
      minor: 1,
      interims: 'all',
      upgrade: webSocketKey !== undefined,
      webSocketKey,
      close: true,
      heldBack: undefined,
      rules: { ending: PLAIN_ENDING, mapField: undefined },
      owner: { staysOpen() {} },
      isRelayed: true,
    },
    sink,
  );
  let isDone = false;
  return (bytes) => {
    if (isRaw) return passOnBytes(bytes);
    if (isDone || bytes === undefined) return isDone || response.completedByEnd(true);
    const progress = response.push(bytes);
    isDone = progress === 'done';
    isRaw = progress === 'switched';
    return isDone || isRaw || progress === 'more';
  };
}

/** The key of a WebSocket over HTTP/2, as this relay has written it; names of a visitor's own fields are in lower case. */
const OWN_KEY = /\r\nSec-WebSocket-Key: (\S+)\r\n/;

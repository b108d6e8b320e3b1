/**
 * Joins a client's connection with one to another relay, byte for byte. It is the hop's hot path: what comes is written as it
 * came, and reading pauses only while the system takes no more.
 */
import type { Duplex } from 'node:stream';
import { STALL_TIMEOUT_MS } from '../limits.ts';

/**
 * @param client nothing listens to its data yet; its end is passed on, and it still gets what the relay has to say
 * @param relay the same; it ends a data socket as a whole, so its end is the client's
 * @param onEnd told once, when both have ended
 */
export function splice(client: Duplex, relay: Duplex, onEnd: () => void): void {
  let open = 2;
  const closed = (): void => {
    open -= 1;
    if (open === 0) onEnd();
  };
  pass(client, relay);
  pass(relay, client);
  client.on('end', () => relay.end());
  client.once('close', () => {
    // Behind a clean end the relay gets what is still queued, and then ends by itself.
    if (!client.readableEnded) relay.destroy();
    closed();
  });
  relay.on('end', () => {
    if (client.writableLength === 0) client.destroy();
    else endWithin(STALL_TIMEOUT_MS, client);
    relay.destroy();
  });
  relay.once('close', () => {
    if (!relay.readableEnded) client.destroy();
    closed();
  });
}

/** Ends a connection when it has taken what is queued, or has not in so many ms. */
function endWithin(ms: number, socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
  socket.end(() => socket.destroy());
}

function pass(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  to.on('drain', () => from.resume());
  from.on('data', (chunk: Buffer) => {
    // A large chunk counts as too much even where the system has taken all of it at once.
    if (!to.write(chunk) && to.writableLength > 0) from.pause();
  });
  if (from.isPaused()) from.resume();
}

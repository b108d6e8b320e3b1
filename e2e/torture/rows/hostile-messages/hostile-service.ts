/** A service that gives hostile responses. */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '../../../support/scope.ts';
import { startRawService } from '../../../support/services/listen.ts';
import { AnsweredRequests } from './answered-requests.ts';
import { AFTER, CANARY, type HostileMessage, numbered, PAUSE } from './case.ts';

/** ms: longer than an attacker's visitor waits, so that somebody else may be asking meanwhile. */
const PAUSE_MS = 150;
const ASKED = /^\S+ \/answer\/(\d+)\/(\d+) /gm;

export interface HostileService {
  readonly port: number;
  readonly requests: AnsweredRequests;
}

/** Starts a service that responds to `/answer/INDEX/NUMBER` with one of these. */
export async function startHostileService(
  scope: Scope,
  responses: readonly HostileMessage[],
): Promise<HostileService> {
  const requests = new AnsweredRequests();
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('end', () => socket.end());
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, index, number] of text.slice(0, end).matchAll(ASKED)) {
        const response = responses[Number(index)];
        requests.asked(socket, Number(number));
        if (response !== undefined) void write(socket, response, Number(number), requests);
      }
      text = text.slice(end);
    });
  });
  return { port, requests };
}

/** After half of the responses the connection ends; after the others it stays for the next request. */
async function write(
  socket: Socket,
  { text }: HostileMessage,
  number: number,
  requests: AnsweredRequests,
): Promise<void> {
  const [first = '', ...others] = text.split(PAUSE);
  socket.write(numbered(first, number));
  for (const part of others) {
    await delay(PAUSE_MS);
    // What comes in one piece with the response is nobody else's: the relay reads it and drops it.
    if (part.includes(AFTER) || part.includes(CANARY)) requests.sentUnasked(socket);
    socket.write(numbered(part, number));
  }
  if (number % 2 === 0) socket.end();
}

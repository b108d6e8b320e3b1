/** A service that responds as its visitors ask: completely, cut at any point, slowly, or never. */
import type { Socket } from 'node:net';
import type { Scope } from '../../../support/scope.ts';
import { type Service, startRawService } from '../../../support/services/listen.ts';

/** How a response says where it ends. */
export const FRAMINGS = ['length', 'chunked'] as const;

const REQUEST = /^\S+ \/(\w+)\/(\w+)\/(\d+)\/(\d+) /;
/** ms until a slow response: a visitor has half-closed by then, or is gone. */
const SLOW_MS = 100;
const TICK_MS = 50;

/** The content of a response; the same for the same numbers. */
export function contentOf(number: number, size: number): string {
  return `content ${number} `.padEnd(size, 'x');
}

/**
 * Starts the service. Targets are `/HOW/FRAMING/NUMBER/SIZE`, where HOW is
 *
 * - `whole`: at once; `slow`: a moment after the request is complete; `ticking`: one piece after the other without an end;
 *   `never`: nothing
 * - `cut` and `reset`: ends in the middle, in either way, at a point that depends on the number
 */
export async function startService(scope: Scope): Promise<Service> {
  return await startRawService(scope, (socket) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
      if (end === -1 || text.length < end + 4 + length) return;
      const [, how = '', framing = '', number = '', size = ''] = REQUEST.exec(text) ?? [];
      text = '';
      respond(socket, how, responseOf(framing, contentOf(Number(number), Number(size))), Number(number));
    });
    // A visitor that waits for its response may have sent everything it has to send.
    socket.on('end', () => setTimeout(() => socket.end(), 2 * SLOW_MS));
  });
}

function respond(socket: Socket, how: string, whole: string, number: number): void {
  if (how === 'whole') socket.write(whole);
  if (how === 'slow') setTimeout(() => socket.write(whole), SLOW_MS);
  if (how === 'ticking') {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const ticking = setInterval(() => socket.write('4\r\ntick\r\n'), TICK_MS);
    socket.once('close', () => clearInterval(ticking));
  }
  if (how === 'cut' || how === 'reset') {
    // Anywhere: in the head, right after it, in the body, one byte before its end.
    const at = number % 7 === 0 ? whole.length - 1 : 1 + ((number * 7919) % (whole.length - 1));
    socket.write(whole.slice(0, at), () => {
      if (how === 'cut') socket.end();
      else setTimeout(() => socket.resetAndDestroy(), 5);
    });
  }
}

function responseOf(framing: string, content: string): string {
  return framing === 'chunked'
    ? `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`
    : `HTTP/1.1 200 OK\r\nContent-Length: ${content.length}\r\n\r\n${content}`;
}

/** A local service with everything that lasts longer than a moment. */
import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import type { Scope } from '../../../support/scope.ts';
import { startHttpService } from '../../../support/services/listen.ts';

/** What lasts comes in so many pieces, so many ms apart: longer than a replacement takes. */
export const PIECES = 120;
export const PIECE_MS = 25;
export const DOWNLOAD_PIECE = Buffer.alloc(20_000, 'culvert ');

export interface Site {
  readonly port: number;
  /** requests that have arrived */
  readonly requests: number;
}

/** `/events` streams events, `/download` a file, an upgrade echoes; everything else says what was sent, with its hash. */
export async function startSite(scope: Scope): Promise<Site> {
  const count = { requests: 0 };
  const service = await startHttpService(scope, (request, response) => {
    count.requests += 1;
    void respond(request, response);
  });
  const sockets = new WebSocketServer({ noServer: true });
  service.server.on('upgrade', (request, socket, head) => {
    count.requests += 1;
    sockets.handleUpgrade(request, socket, head, (peer) => {
      peer.on('error', () => peer.terminate());
      peer.on('message', (message) => peer.send(message, { binary: false }));
    });
  });
  return {
    port: service.port,
    get requests() {
      return count.requests;
    },
  };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/events') {
    response.setHeader('Content-Type', 'text/event-stream');
    return await inPieces(response, (piece) => `data: ${piece}\n\n`);
  }
  if (request.url === '/download') {
    response.setHeader('Content-Length', PIECES * DOWNLOAD_PIECE.length);
    return await inPieces(response, () => DOWNLOAD_PIECE);
  }
  const hash: Hash = createHash('sha256');
  let length = 0;
  request.on('data', (piece: Buffer) => {
    length += piece.length;
    hash.update(piece);
  });
  request.on('end', () =>
    response.end(responseText(request.method, request.url, length, hash.digest('hex'))),
  );
}

async function inPieces(response: ServerResponse, piece: (number: number) => string | Buffer): Promise<void> {
  for (let number = 0; number < PIECES && !response.destroyed; number += 1) {
    response.write(piece(number));
    await delay(PIECE_MS);
  }
  response.end();
}

/** What the service says about a request. */
export function responseText(method = 'GET', target = '/', length = 0, sha256 = ''): string {
  return `${method} ${target} ${length} ${sha256}`;
}

/** Visitors who are there for longer than a replacement takes. Each resolves to what went wrong, if anything did. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { RawConnection } from '../../../support/raw-http.ts';
import { DOWNLOAD_PIECE, PIECE_MS, PIECES, responseText } from './site.ts';

/** Opens a connection of a visitor. */
export type Open = () => Promise<RawConnection>;

type Visit = (open: Open, host: string) => Promise<string | undefined>;

export const LASTING: Readonly<Record<string, Visit>> = {
  events: async (open, host) => {
    const { text } = await (await open()).request({ host, target: '/events' });
    const expected = Array.from({ length: PIECES }, (_, number) => `data: ${number}\n\n`).join('');
    return text === expected ? undefined : `events: ${text.length} of ${expected.length} bytes`;
  },

  download: async (open, host) => {
    const { body } = await (await open()).request({ host, target: '/download' });
    const isWhole =
      body.length === PIECES * DOWNLOAD_PIECE.length && body.subarray(-20_000).equals(DOWNLOAD_PIECE);
    return isWhole ? undefined : `download: ${body.length} bytes`;
  },

  upload: async (open, host) => {
    const connection = await open();
    const length = PIECES * DOWNLOAD_PIECE.length;
    const hash = createHash('sha256');
    await connection.write(`POST /upload HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n`);
    for (let piece = 0; piece < PIECES; piece += 1) {
      hash.update(DOWNLOAD_PIECE);
      await connection.write(DOWNLOAD_PIECE);
      await delay(PIECE_MS);
    }
    const { text } = await connection.response('POST');
    return text === responseText('POST', '/upload', length, hash.digest('hex'))
      ? undefined
      : `upload: ${text}`;
  },

  webSocket: async (open, host) => {
    const { socket } = await open();
    const peer = new WebSocket(`ws://${host}/`, { createConnection: () => socket });
    const closed = once(peer, 'close');
    let heard = 0;
    peer.on('message', (message: Buffer) => {
      if (message.toString() === `message ${heard}`) heard += 1;
    });
    await once(peer, 'open');
    for (let sent = 0; sent < PIECES; sent += 1) {
      peer.send(`message ${sent}`);
      await delay(PIECE_MS);
    }
    peer.close(1000);
    const [code] = (await closed) as [number];
    return code === 1000 && heard === PIECES
      ? undefined
      : `WebSocket: ${heard} messages, closed with ${code}`;
  },
};

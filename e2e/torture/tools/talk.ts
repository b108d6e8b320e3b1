import { deferred } from '../../support/deferred.ts';
import type { RawConnection } from '../../support/raw-http.ts';

export interface Patience {
  /** ms to wait for the first byte */
  readonly firstMs: number;
  /** ms without a byte after which no more is expected */
  readonly quietMs: number;
}

/** Whatever came back, as latin1, and whether the other end has finished. */
export interface Heard {
  readonly text: string;
  readonly ended: boolean;
}

/** Writes bytes, and takes whatever comes back: for messages whose end nobody knows. */
export async function talk(
  { socket }: RawConnection,
  bytes: Buffer,
  { firstMs, quietMs }: Patience,
): Promise<Heard> {
  const pieces: Buffer[] = [];
  const over = deferred();
  let timer = setTimeout(over.resolve, firstMs);
  let ended = socket.destroyed || socket.readableEnded;
  const hear = (piece: Buffer): void => {
    pieces.push(piece);
    clearTimeout(timer);
    timer = setTimeout(over.resolve, quietMs);
  };
  const end = (): void => {
    ended = true;
    over.resolve();
  };
  socket.on('data', hear).once('end', end).once('close', end);
  if (ended) over.resolve();
  else socket.write(bytes);
  await over.promise;
  clearTimeout(timer);
  socket.off('data', hear).off('end', end).off('close', end);
  return { text: Buffer.concat(pieces).toString('latin1'), ended };
}

import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

/** An input that could not be read; the message says why. */
export class InputError extends Error {}

/**
 * Reads a file, or standard input to its end.
 *
 * @param path `undefined` or `-` for standard input
 * @param maxBytes that it may have
 * @throws InputError
 */
export async function readAll(path: string | undefined, input: Readable, maxBytes: number): Promise<Buffer> {
  const isInput = path === undefined || path === '-';
  const name = isInput ? 'Standard input' : `"${path}"`;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of isInput ? input : createReadStream(path)) {
      const bytes = Buffer.from(chunk as Uint8Array);
      size += bytes.length;
      if (size > maxBytes) throw new InputError(`${name} is longer than ${maxBytes / 1024} KiB, the limit`);
      chunks.push(bytes);
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return Buffer.concat(chunks);
}

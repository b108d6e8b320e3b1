/** A directory that looks like an unpacked Electron for Linux to electron-builder, but cannot run anything. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What @electron/fuses looks for in the program; version 1 and the number of fuses follow, then one byte for each. */
const FUSE_SENTINEL = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
const FUSES = '10110011';

export async function makePlaceholderElectron(directory: string): Promise<void> {
  await mkdir(join(directory, 'resources'), { recursive: true });
  await mkdir(join(directory, 'locales'), { recursive: true });
  const fuses = Buffer.concat([
    Buffer.from(FUSE_SENTINEL),
    Buffer.from([1, FUSES.length]),
    Buffer.from(FUSES),
  ]);
  const program = Buffer.concat([Buffer.alloc(64), fuses, Buffer.alloc(64)]);
  await writeFile(join(directory, 'electron'), program, { mode: 0o755 });
  const files = ['LICENSE', 'LICENSES.chromium.html', 'version', 'chrome-sandbox', 'locales/en-US.pak'];
  await Promise.all(files.map((file) => writeFile(join(directory, file), 'placeholder')));
}

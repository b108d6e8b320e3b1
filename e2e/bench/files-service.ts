/** A local service with responses of any size: nginx with files. */
import { closeSync, ftruncateSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import { startNginx } from './nginx-program.ts';

/**
 * Starts it; it ends with the scope.
 *
 * @param sizes bytes of each file; `/BYTES` is its path
 * @returns its port
 */
export async function startFiles(scope: Scope, sizes: readonly number[]): Promise<number> {
  const folder = temporaryDirectory(scope);
  for (const bytes of sizes) {
    const file = openSync(join(folder, String(bytes)), 'w');
    // Nothing but a hole: the disk is not what is measured.
    ftruncateSync(file, bytes);
    closeSync(file);
  }
  const port = await closedPort();
  await startNginx(scope, port, 'sendfile on; tcp_nopush on; open_file_cache max=16;', `root ${folder};`);
  return port;
}

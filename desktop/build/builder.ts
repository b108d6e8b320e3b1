/** electron-builder, and what it is told beside electron-builder.yml. */
import { createRequire } from 'node:module';
import { readHome, updatesAddress } from '../../release/home.ts';

/** JavaScript file of its command, for Node. */
export const BUILDER = createRequire(import.meta.url).resolve('electron-builder/cli.js');

/** @param more arguments of electron-builder's command, which win */
export function builderArguments(more: readonly string[]): string[] {
  const updates = updatesAddress(readHome());
  return ['--config', 'electron-builder.yml', '--publish', 'never', `-c.publish.url=${updates}`, ...more];
}

/** electron-builder, and what it is told beside electron-builder.yml. */
import { createRequire } from 'node:module';
import { readRepository, updatesAddress } from '../../release/repository.ts';

/** JavaScript file of its command, for Node. */
export const BUILDER = createRequire(import.meta.url).resolve('electron-builder/cli.js');

/**
 * @returns the environment without empty variables. That is how continuous integration hands out secrets that do not
 *   exist, and electron-builder would take one for a certificate
 */
export function builderEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

/** @param more arguments of electron-builder's command, which win */
export function builderArguments(more: readonly string[]): string[] {
  const updates = updatesAddress(readRepository());
  return ['--config', 'electron-builder.yml', '--publish', 'never', `-c.publish.url=${updates}`, ...more];
}

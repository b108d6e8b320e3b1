/** electron-builder, and the options it gets in addition to electron-builder.yml. */
import { createRequire } from 'node:module';
import { readRepository, updatesAddress } from '../../release/repository.ts';

/** JavaScript file of its command, for Node. */
export const BUILDER = createRequire(import.meta.url).resolve('electron-builder/cli.js');

/**
 * @returns the environment without empty variables. Continuous integration passes secrets that do not exist as empty ones,
 *   and electron-builder would take such a value for a certificate
 */
export function builderEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

/** @param more arguments for electron-builder's command, which win */
export function builderArguments(more: readonly string[]): string[] {
  const updates = updatesAddress(readRepository());
  return ['--config', 'electron-builder.yml', '--publish', 'never', `-c.publish.url=${updates}`, ...more];
}

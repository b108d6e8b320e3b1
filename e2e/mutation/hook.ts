/** Loaded before mocha: one source file of this process gets a deliberate break, which is read from the environment. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type Break, broken } from './breaks.ts';

/** The JSON value of {@link VARIABLE}. */
export interface BrokenFile extends Break {
  /** absolute path */
  readonly path: string;
}

export const VARIABLE = 'BROKEN_FILE';

const given = process.env[VARIABLE];
if (given !== undefined) {
  const brokenFile = JSON.parse(given) as BrokenFile;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.startsWith('file:') || fileURLToPath(url) !== brokenFile.path) return loaded;
      return { ...loaded, source: broken(readFileSync(brokenFile.path, 'utf8'), brokenFile) };
    },
  });
}

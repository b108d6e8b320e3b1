/** Lists the packages in a bundle, with their licences. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { ROOT } from './repository.ts';

export interface Bundled {
  readonly name: string;
  readonly licence: string;
  /** its full text, which must accompany copies */
  readonly text: string;
}

/** The packages whose files are in the bundles, by name. */
export function bundledPackages(metafiles: readonly Metafile[]): Bundled[] {
  const directories = new Map<string, string>();
  for (const input of metafiles.flatMap(({ inputs }) => Object.keys(inputs))) {
    const [, directory, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input) ?? [];
    if (directory !== undefined && name !== undefined) directories.set(name, join(ROOT, directory));
  }
  return [...directories]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, directory]) => ({ name, licence: licenceOf(directory), text: licenceText(directory) }));
}

/** The licence texts that accompany a bundle. */
export function licenceNotices(packages: readonly Bundled[]): string {
  return packages
    .map(({ name, licence, text }) => `${name} (${licence})\n\n${text.trim()}\n`)
    .join('\n---\n\n');
}

function licenceOf(directory: string): string {
  const { license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    license?: string;
  };
  if (license === undefined) throw new Error(`${directory} does not say its licence`);
  return license;
}

function licenceText(directory: string): string {
  const file = existsSync(directory) && readdirSync(directory).find((name) => /^licen[cs]e/i.test(name));
  return typeof file === 'string' ? readFileSync(join(directory, file), 'utf8') : '';
}

import { copyFile, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'esbuild';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

const DESKTOP = fileURLToPath(new URL('../../../desktop/', import.meta.url));

/** The files of the window, as the app ships them. */
export interface BuiltWindow {
  /** directory of the page */
  readonly page: string;
  /** source of the bundled preload, which asks for `electron` with `require` */
  readonly preload: string;
}

/** Bundles the page and its preload. */
export async function buildWindow(scope: Scope): Promise<BuiltWindow> {
  const directory = temporaryDirectory(scope);
  const page = join(directory, 'page');
  await build({
    entryPoints: [join(DESKTOP, 'renderer/main.tsx')],
    outdir: page,
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'chrome140',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  await build({
    entryPoints: [join(DESKTOP, 'preload/preload.ts')],
    outdir: directory,
    bundle: true,
    format: 'cjs',
    external: ['electron'],
    logLevel: 'warning',
  });
  await copyFile(join(DESKTOP, 'renderer/index.html'), join(page, 'index.html'));
  return { page, preload: await readFile(join(directory, 'preload.js'), 'utf8') };
}

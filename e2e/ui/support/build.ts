import { copyFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'esbuild';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

const RENDERER = fileURLToPath(new URL('../../../desktop/renderer/', import.meta.url));

/** Bundles the page as the app ships it. @returns the directory with its files */
export async function buildRenderer(scope: Scope): Promise<string> {
  const directory = temporaryDirectory(scope);
  await build({
    entryPoints: [join(RENDERER, 'main.tsx')],
    outdir: directory,
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'chrome140',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  await copyFile(join(RENDERER, 'index.html'), join(directory, 'index.html'));
  return directory;
}

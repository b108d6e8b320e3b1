import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPage, buildPreload } from '../../../desktop/build/build.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

/** The files of the window, as the app ships them. */
export interface BuiltWindow {
  /** directory of the page */
  readonly page: string;
  /** source of the bundled preload, which loads `electron` with `require` */
  readonly preload: string;
}

/** Bundles the page and its preload as the app's own build does. */
export async function buildWindow(scope: Scope): Promise<BuiltWindow> {
  const directory = temporaryDirectory(scope);
  const page = join(directory, 'page');
  const preload = join(directory, 'preload.cjs');
  await Promise.all([buildPage(page), buildPreload(preload)]);
  return { page, preload: await readFile(preload, 'utf8') };
}

/** The folders that a `culvert.yml` shares: within its own, because the file may be somebody else's (docs/command.md). */
import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { say } from '../engine/said/said.ts';
import { ProjectFileError } from './project-error.ts';
import type { TunnelSpec } from './tunnel-spec.ts';

/** A tunnel of the file, which may lead to a folder. */
type LabelledFolder = Pick<TunnelSpec, 'folder'> & { readonly label: string };

/**
 * Finds the folders, and follows links on the way.
 *
 * @param path of the `culvert.yml`
 * @returns the tunnels, with the path of each folder from the root
 * @throws ProjectFileError for a folder that is not there, or that a link leads out to
 */
export function locateFolders<T extends LabelledFolder>(path: string, tunnels: readonly T[]): T[] {
  return tunnels.map((tunnel) =>
    tunnel.folder === undefined
      ? tunnel
      : { ...tunnel, folder: locate(path, `tunnels.${tunnel.label}.share`, tunnel.folder) },
  );
}

function locate(file: string, field: string, folder: string): string {
  const what = { path: file, field, folder: escapeUnprintable(folder) };
  try {
    const own = realpathSync(dirname(file));
    const found = realpathSync(join(own, folder));
    const below = relative(own, found);
    if (!isAbsolute(below) && below.split(sep)[0] !== '..') return found;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ProjectFileError(say('project.folderUnreadable', { ...what, code }));
  }
  throw new ProjectFileError(say('project.folderOutside', what));
}

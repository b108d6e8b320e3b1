/** Reads a project for the app: with the reader of the command, and what of it the app does not start. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProjectFileError } from '../../config/project-error.ts';
import { PROJECT_FILE, readProjectIn } from '../../config/project-file.ts';
import { locateFolders } from '../../config/project-folders.ts';
import { leadsElsewhere } from '../../config/project-trust.ts';
import type { Project, ProjectTunnel, WithheldTunnel } from '../../config/project.ts';
import type { RelayAddress } from '../../engine/relay/relay-address.ts';
import { saidOf } from '../../engine/said/said.ts';
import { told } from '../../i18n/told.ts';
import { t } from '../../i18n/translate.ts';
import { FOLDER_LOOKS } from '../../share/folder-looks.ts';
import { FolderUnreadable, locateFolder } from '../../share/shared-folder.ts';

/** A tunnel of the file, and whether the app can start it. */
export interface FoundTunnel {
  /** with the path of its folder as the file has it */
  readonly spec: ProjectTunnel | WithheldTunnel;
  /** what to start, with the path of its folder from the root; or why not */
  readonly start: ProjectTunnel | { readonly blocked: string };
}

/** Whether a folder has a `culvert.yml`; one that does not say has none. */
export async function hasProject(folder: string): Promise<boolean> {
  try {
    // Waited for here, because it is read in one go, which must not wait for a server that is gone.
    return await FOLDER_LOOKS.take(async () => (await stat(join(folder, PROJECT_FILE))).isFile());
  } catch {
    return false;
  }
}

/**
 * @param folder that has the file
 * @param relay the one that the user is signed in to
 * @returns the tunnels in the order of the file, but for those that cannot be started for want of a variable, which come last
 * @throws ProjectFileError for what is wrong with the file, or a folder without one
 */
export async function readTunnels(folder: string, relay: RelayAddress): Promise<readonly FoundTunnel[]> {
  if (!(await hasProject(folder))) throw new ProjectFileError(t('project.none'));
  const project = readProjectIn(folder, { withholds: true });
  if (project.relay !== undefined && project.relay.origin !== relay.origin)
    throw new ProjectFileError(t('project.otherRelay', { relay: project.relay.origin, own: relay.origin }));
  const found: FoundTunnel[] = [];
  for (const spec of project.tunnels) found.push({ spec, start: await startable(project, spec) });
  for (const spec of project.withheld)
    found.push({ spec, start: { blocked: t('project.unset', { why: spec.why.map(told).join('; ') }) } });
  return found;
}

async function startable(project: Project, spec: ProjectTunnel): Promise<FoundTunnel['start']> {
  if (leadsElsewhere(spec)) return { blocked: t('project.otherMachine', { host: spec.localHost }) };
  if (spec.folder === undefined) return spec;
  try {
    // Where it leads to may not answer, which only this notices.
    await locateFolder(join(dirname(project.path), spec.folder));
    const [located] = locateFolders(project.path, [spec]);
    return located ?? spec;
  } catch (error) {
    if (error instanceof FolderUnreadable || error instanceof ProjectFileError)
      return { blocked: told(saidOf(error)) };
    throw error;
  }
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../../shared/version.ts';
import type { About } from '../../shared/ipc.ts';
import { projectLinks, type ProjectLinks } from '../system/links.ts';

/** @param directory of the built main process, in which the build lists what is in it (desktop/build) */
export function readAbout(directory: string, { electron, chrome, node }: NodeJS.ProcessVersions): About {
  const licences = JSON.parse(readFileSync(join(directory, 'licences.json'), 'utf8')) as About['licences'];
  return {
    version: VERSION,
    versions: [
      { name: 'Electron', version: electron ?? '' },
      { name: 'Chromium', version: chrome ?? '' },
      { name: 'Node.js', version: node },
    ],
    licences,
  };
}

/** @param directory of the built main process, in which the build says where the project's home is */
export function readLinks(directory: string): ProjectLinks {
  const { homepage } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    homepage: string;
  };
  return projectLinks(homepage, VERSION);
}

/** @param directory of what the app was packaged with, in which electron-builder says where newer versions are; `''` without */
export function readUpdateConfig(directory: string): string {
  const path = join(directory, 'app-update.yml');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** The licences of the app's parts, as its window lists them. */
import type { Bundled } from '../../release/licences.ts';
import type { About } from '../shared/ipc.ts';

/** Parts of Electron itself; it comes with their texts (`LICENSES.chromium.html`). */
const ELECTRON: About['licences'] = [
  { name: 'Electron', licence: 'MIT' },
  { name: 'Chromium', licence: 'BSD-3-Clause and others' },
  { name: 'Node.js', licence: 'MIT' },
];

/** What the window lists under "About". */
export function licenceList(packages: readonly Bundled[]): About['licences'] {
  return [...ELECTRON, ...packages.map(({ name, licence }) => ({ name, licence }))];
}

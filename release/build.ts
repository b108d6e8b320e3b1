/** `npm run build`: bundles the two programs and the library into dist/, one folder each. */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPage } from '../desktop/build/build.ts';
import { bundle, DIST, mediaTypes, noFolders, PROGRAM, THREAD, WINDOW } from './bundle.ts';
import { bundledPackages, licenceNotices } from './licences.ts';
import { readRepository, ROOT } from './repository.ts';

/** The library that other programs import (docs/reference/library.md). */
const LIBRARY = 'desktop/library';

rmSync(DIST, { recursive: true, force: true });
const metafiles = await Promise.all([
  bundle('server', ['cli.ts'], PROGRAM, [mediaTypes]),
  bundle('server', ['store/thread/store-thread.ts'], THREAD),
  bundle('server', ['handoff/send-listeners.ts'], THREAD),
  bundle('server', ['handoff/pass-listeners.ts'], THREAD),
  bundle('desktop', ['cli.ts'], PROGRAM),
  bundle(LIBRARY, ['index.ts', 'vite.ts'], PROGRAM, [noFolders]),
  buildPage(WINDOW, 'browser'),
]);
const packages = bundledPackages(metafiles);
cpSync(join(ROOT, LIBRARY, 'types'), join(DIST, LIBRARY, 'types'), { recursive: true });
writeFileSync(join(DIST, 'NOTICES.txt'), licenceNotices(packages));
writeFileSync(
  join(WINDOW, 'about.json'),
  JSON.stringify({
    homepage: readRepository().address,
    licences: packages.map(({ name, licence }) => ({ name, licence })),
  }),
);

/** `npm run package`: installers for the system it runs on, in dist-desktop/packages. */
import { spawnSync } from 'node:child_process';
import { ROOT } from '../../release/repository.ts';
import { buildApp, BUILDER, builderArguments, builderEnvironment } from './build.ts';

const HELP = `
Nothing was packaged; what failed is above. electron-builder downloads Electron, and the tools that make installers, from
github.com once and keeps them. Where that cannot be reached:
- ELECTRON_MIRROR and ELECTRON_BUILDER_BINARIES_MIRROR name other places for them;
- npm run package -- --dir -c.electronDist=DIRECTORY makes no installer, and takes an Electron that is unpacked already.
`;

await buildApp();
const { status } = spawnSync(process.execPath, [BUILDER, ...builderArguments(process.argv.slice(2))], {
  cwd: ROOT,
  env: builderEnvironment(process.env),
  stdio: 'inherit',
});
if (status !== 0) {
  process.stderr.write(HELP);
  process.exitCode = 1;
}

/**
 * `node desktop/build/main.ts` builds the app. With `start` (`npm run desktop`) it then starts it on Electron, with
 * `package` (`npm run package`) it makes installers for the system it runs on, in dist-desktop/packages.
 */
import { spawnSync } from 'node:child_process';
import { ROOT } from '../../release/repository.ts';
import { APP_DIRECTORY, buildApp, BUILDER, builderArguments, builderEnvironment } from './build.ts';
import { getElectron } from './electron-program.ts';

const PACKAGE_HELP = `
Nothing was packaged; what failed is above. electron-builder downloads Electron, and the tools that make installers, from
github.com once and keeps them. Where that cannot be reached:
- ELECTRON_MIRROR and ELECTRON_BUILDER_BINARIES_MIRROR name other places for them;
- npm run package -- --dir -c.electronDist=DIRECTORY makes no installer, and takes an Electron that is unpacked already.
`;

const [what, ...rest] = process.argv.slice(2);
if (what === 'start') await start();
else {
  await buildApp();
  if (what === 'package') makePackages();
}

async function start(): Promise<void> {
  try {
    const program = getElectron();
    await buildApp();
    const { status, error } = spawnSync(program, [APP_DIRECTORY, ...rest], { stdio: 'inherit' });
    if (error !== undefined) throw error;
    process.exitCode = status ?? 1;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

function makePackages(): void {
  const { status } = spawnSync(process.execPath, [BUILDER, ...builderArguments(rest)], {
    cwd: ROOT,
    env: builderEnvironment(process.env),
    stdio: 'inherit',
  });
  if (status === 0) return;
  process.stderr.write(PACKAGE_HELP);
  process.exitCode = 1;
}

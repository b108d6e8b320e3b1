/** `npm run desktop`: builds the app and starts it on Electron. */
import { spawnSync } from 'node:child_process';
import { APP_DIRECTORY, buildApp } from './build.ts';
import { getElectron } from './electron-program.ts';

try {
  const program = getElectron();
  await buildApp();
  const { status, error } = spawnSync(program, [APP_DIRECTORY, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  if (error !== undefined) throw error;
  process.exitCode = status ?? 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

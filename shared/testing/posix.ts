/**
 * Declares tests of features that Windows lacks: file modes, named pipes and sockets as files, links. On Windows they
 * are reported as skipped.
 */
const isWindows = process.platform === 'win32';

export const onPosix = isWindows ? it.skip : it;
export const describeOnPosix = isWindows ? describe.skip : describe;

const isLinux = process.platform === 'linux';

/** Tests that need loopback addresses other than 127.0.0.1, or a package of Debian. */
export const onLinux = isLinux ? it : it.skip;
export const describeOnLinux = isLinux ? describe : describe.skip;

/**
 * Skips a test, or all tests of a hook, if the machine lacks something that cannot be installed, and reports the reason. A test that
 * needs a program fails without it, because its suite installs it.
 */
export function notRun(context: Mocha.Context, reason: string): never {
  const runnable = context.currentTest ?? context.test;
  if (runnable !== undefined) runnable.title += ` (not run: ${reason})`;
  return context.skip();
}

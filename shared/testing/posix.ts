/*
 * Tests of features that not every system has; elsewhere they are reported as skipped. `it` and `describe` are looked up
 * at each call: in a process that runs several files, Mocha gives each file its own, and a test that is declared with
 * those of another file vanishes.
 */

type Declare<Test, Suite> = (title: string, body: Test) => Suite;

function testsIf(isOn: boolean): Declare<Mocha.AsyncFunc | Mocha.Func, Mocha.Test> {
  return (title, body) => (isOn ? it(title, body as Mocha.Func) : it.skip(title, body as Mocha.Func));
}

function suitesIf(isOn: boolean): Declare<(this: Mocha.Suite) => void, Mocha.Suite | void> {
  return (title, body) => (isOn ? describe(title, body) : describe.skip(title, body));
}

const isWindows = process.platform === 'win32';

/** Need what Windows lacks: file modes, named pipes and sockets as files, links. */
export const onPosix = testsIf(!isWindows);
export const describeOnPosix = suitesIf(!isWindows);

const isLinux = process.platform === 'linux';

/** Need loopback addresses other than 127.0.0.1, or a package of Debian. */
export const onLinux = testsIf(isLinux);
export const describeOnLinux = suitesIf(isLinux);

/**
 * Skips a test, or all tests of a hook, if the machine lacks something that cannot be installed, and reports the reason. A test that
 * needs a program fails without it, because its suite installs it.
 */
export function notRun(context: Mocha.Context, reason: string): never {
  const runnable = context.currentTest ?? context.test;
  if (runnable !== undefined) runnable.title += ` (not run: ${reason})`;
  return context.skip();
}

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

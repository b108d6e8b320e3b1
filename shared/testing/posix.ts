/**
 * Declares tests of features that Windows lacks: file modes, named pipes and sockets as files, links. On Windows they
 * are reported as skipped.
 */
const isWindows = process.platform === 'win32';

export const onPosix = isWindows ? it.skip : it;
export const describeOnPosix = isWindows ? describe.skip : describe;

/** Tests that need loopback addresses other than 127.0.0.1. */
export const onLinux = process.platform === 'linux' ? it : it.skip;

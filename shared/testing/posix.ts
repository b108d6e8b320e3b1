/**
 * Declares tests of things that Windows does not have: file modes, named pipes and sockets as files, links. On Windows they
 * are skipped, and counted as skipped.
 */
const isWindows = process.platform === 'win32';

export const onPosix = isWindows ? it.skip : it;
export const describeOnPosix = isWindows ? describe.skip : describe;

/** Where more of loopback than 127.0.0.1 belongs to the machine. */
export const onLinux = process.platform === 'linux' ? it : it.skip;

/**
 * Declare tests of what Windows has no counterpart for: modes of files, named pipes and sockets as files, links.
 * There they are skipped, and counted as that.
 */
const isWindows = process.platform === 'win32';

export const onPosix = isWindows ? it.skip : it;
export const describeOnPosix = isWindows ? describe.skip : describe;

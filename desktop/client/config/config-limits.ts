/** Every limit of the files that `culvert` reads, with its reason. */

/** A larger file must be a mistake: `culvert.yml` takes about 150 bytes a tunnel. */
export const CONFIG_FILE_MAX_BYTES = 64 * 1024;
/** Each tunnel holds sockets and timers in one process; an account may open 10 a minute. */
export const CONFIG_TUNNELS_MAX = 64;
/** Longer tunnel names leave no room for anything else on a line. */
export const LABEL_MAX_LENGTH = 32;
/** How long a visitor may be kept waiting for a service that restarts: browsers show nothing meanwhile. */
export const WAIT_MAX_SECONDS = 60;

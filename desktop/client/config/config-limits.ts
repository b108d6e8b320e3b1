/** Limits of the files that `culvert` reads, with their reasons. */

/** Maximum size of `culvert.yml`. A larger file must be a mistake: a tunnel needs about 150 bytes. */
export const CONFIG_FILE_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of tunnels in one `culvert.yml`: each holds sockets and timers in one process; an account may open 10
 * a minute.
 */
export const CONFIG_TUNNELS_MAX = 64;
/** Maximum length of a tunnel name in `culvert.yml`: longer names leave no room for anything else on a line. */
export const LABEL_MAX_LENGTH = 32;
/** Longest time that a visitor may wait for a service that is restarting. Browsers show nothing until then. */
export const WAIT_MAX_SECONDS = 60;
/** Maximum number of `hosts` of a tunnel: each service has its own connections. */
export const CONFIG_HOSTS_MAX = 32;

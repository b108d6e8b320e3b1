/** Every limit of the command, with its reason. Times are in ms. */

/**
 * `culvert start` waits this long when the relay limits creates: one is allowed every 6 s (protocol.md section
 * 3.2).
 */
export const CREATE_RETRY_MS = 60_000;
/** Others on the account may use the creates that become free; after this many tries the refusal is shown. */
export const CREATE_RETRIES_MAX = 10;

/** The longest key has 204 characters, the longest password 128; longer text on standard input is something else. */
export const INPUT_MAX = 4096;

/** Frames of the view: faster than anybody reads, slow enough to cost nothing. */
export const VIEW_DRAW_MS = 250;
/** How often the relay is asked for expiry and counters while nothing happens, because others may extend the tunnel. */
export const VIEW_REFRESH_MS = 10_000;
/** The same while there are requests: the relay's counters are at most 1 s behind. */
export const VIEW_REFRESH_BUSY_MS = 2000;
/** How long a problem stays in view after it last occurred. */
export const VIEW_PROBLEM_MS = 30_000;

/** How long a word about what a key has done stays in view. */
export const VIEW_NOTE_MS = 5000;
/** What is typed to find requests: more than anybody types. */
export const LOG_SEARCH_MAX = 200;

/** How long before its end a tunnel's end is announced first: time to finish something. */
export const EXPIRY_FIRST_WARNING_MS = 10 * 60_000;
/** The same, for the last time: time to extend it. */
export const EXPIRY_LAST_WARNING_MS = 2 * 60_000;
/** How often the relay is asked whether a tunnel was extended, once the last warning is over. */
export const EXPIRY_LOOK_MS = 60_000;

/** How long an approval request is shown: the relay denies it after that. */
export const VIEW_KNOCK_MS = 5 * 60_000;
/** Approval requests listed per tunnel; the relay queues no more than these. */
export const VIEW_KNOCKS_MAX = 32;

/** Every limit of the command, with its reason. Times are in ms. */

/** `culvert start` waits so long when the relay limits creates: one is allowed every 6 s (spec.md section 8). */
export const CREATE_RETRY_MS = 60_000;
/** Others of the account may take the creates that become free; after that the refusal is shown. */
export const CREATE_RETRIES_MAX = 10;

/** The longest key has 204 characters; what is longer on standard input is something else. */
export const KEY_INPUT_MAX = 4096;

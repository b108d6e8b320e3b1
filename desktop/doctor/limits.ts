/** Every limit of the checks of `culvert doctor`, with its reason. Times are in ms. */

/** One hop: as long as the client itself waits for it. */
export const DOCTOR_HOP_TIMEOUT_MS = 10_000;
/** Pages that respond in place of a relay may be endless; what a relay says of itself takes some 60 KiB. */
export const DOCTOR_ANSWER_MAX_BYTES = 512 * 1024;

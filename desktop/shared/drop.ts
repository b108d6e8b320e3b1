/** Of what is dropped at once, so many are told: one is shared, and more are too many. */
export const DROPPED_PATHS_MAX = 2;

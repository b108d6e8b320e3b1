/** Every limit of shared folders, with its reason. */

/** Names of a shared folder that a page lists: each is looked up, and nobody reads more. */
export const SHARE_LISTED_MAX = 1000;

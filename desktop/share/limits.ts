/** Every limit of shared folders, with its reason. */

/** Names of a shared folder that a page lists: each is looked up, and nobody reads more. */
export const SHARE_LISTED_MAX = 1000;
/** How long a folder may take to answer, in ms: one on a server that is gone never does, and one that has to wake a disk takes seconds. */
export const FOLDER_ANSWER_MS = 8000;
/** Folders that have not answered and may still be waited for: each has one of the four threads that this process has for files. */
export const SILENT_FOLDERS_MAX = 2;
/** Bytes of a file that are read at a time for a visitor, and wait for them. */
export const SHARE_READ_BYTES = 65_536;

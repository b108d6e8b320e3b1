/** What people are told before a folder is shared, by the command and in the window. */
export const SHARE_WORDS = `Visitors get index.html of a folder, or a list of what is in it. Names that begin with a dot are not there for them, nor
are links that lead out of the folder. Nothing can be changed.`;

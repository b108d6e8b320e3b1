/** Of a folder that is shared. */
export const FOLDER_SAYINGS = {
  'folder.none': '"{folder}" is not a folder.',
  'folder.silent': 'The folder "{folder}" does not answer: the drive or server that it is on may be gone.',
  'folder.unreadable': 'The folder "{folder}" cannot be read ({code}).',
} as const;

/** Sharing a folder that was dropped on the window. */
export const DROP = {
  'drop.question': 'Share the folder <b>{name}</b>?',
  'drop.explained':
    'Anyone who has the address can read it for an hour. Visitors get index.html of a folder, or a list of what is in it. Names that begin with a dot are not there for them, nor are links that lead out of the folder. Nothing can be changed.',
  'drop.shared': 'Folder {name} is shared.',
  'drop.cannot': 'This cannot be shared',
  'drop.share': 'Share for 1 h',
  'drop.sharing': 'Sharing…',
} as const;

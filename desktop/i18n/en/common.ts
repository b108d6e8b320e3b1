/** What several parts of the app say. */
export const COMMON = {
  'common.stillStarting': 'Still starting. This takes longer than it should.',
  'common.openAgain': '{problem} Close this window and open it again.',
  'common.lostContact': 'The window lost contact with the app.',
  'common.close': 'Close',
  'common.cancel': 'Cancel',
} as const;

/** Notifications of the system. */
export const NOTICES = {
  'notice.knock': 'Somebody wants to see {slug}',
  'notice.knockFrom': '{agent}, from {address}.',
  'notice.updateOut': 'Culvert {version} is out',
  'notice.firstVisitor': '{slug} has its first visitor',
  'notice.expired': '{slug} has expired',
  'notice.expiresIn': '{slug} expires in {minutes} min',
  'notice.extend': 'Extend by 1 hour',
  'notice.clickToExtend': '{text} Click to extend it by 1 hour.',
  'notice.admit': 'Admit',
  'notice.refuse': 'Refuse',
  'notice.clickToAnswer': '{text} Click to answer.',
  'notice.keyRefused': 'Your key was refused',
  'notice.keyRefused.text': 'Your tunnels are offline. Sign in with another key.',
  'notice.updateOut.text':
    'This copy does not update itself, because it is not signed. Click to see where to get the new one.',
  'notice.trayHint': 'Culvert is still here',
  'notice.trayHint.text':
    'Your tunnels stay online. Open Culvert from the tray, or start it again; Quit in its menu ends it.',
  'notice.firstVisitor.text': 'A request has come to {kind, select, folder {folder} other {port}} {name}.',
  'notice.expired.text':
    '{kind, select, folder {Folder} other {Port}} {name} is no longer shared. Start it again from Culvert.',
  'notice.expiresIn.text': 'After that nobody can reach {kind, select, folder {folder} other {port}} {name}.',
  'notice.expiredTogether': '{count} tunnels have expired',
  'notice.expiredTogether.text': 'Their ports are no longer shared. Start them again from Culvert.',
  'notice.firstVisitors': '{count} tunnels have their first visitors',
  'notice.firstVisitors.text': 'Culvert shows their requests.',
  'notice.lost': '{count, plural, one {{slug} is offline} other {# tunnels are offline}}',
  'notice.back': '{count, plural, one {{slug} is back} other {# tunnels are back}}',
  'notice.allBack': 'All {count} tunnels are back',
  'notice.back.text': 'Visitors can reach {count, plural, one {it} other {them}} again.',
} as const;
